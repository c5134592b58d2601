//! An allocator that recognizes its own blocks, and aborts if it has to free a block of
//! another library.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicIsize, Ordering};
use std::alloc::System;

/// The system's allocator, with a mark in front of each block.
pub(crate) struct Marked {
    mark: u64,
    live: AtomicIsize,
}

impl Marked {
    pub(crate) const fn new(mark: u64) -> Self {
        Self { mark, live: AtomicIsize::new(0) }
    }

    /// How many blocks have not been freed.
    pub(crate) fn live(&self) -> isize {
        self.live.load(Ordering::SeqCst)
    }

    /// The layout of a block with its mark, and where the block begins in it.
    fn marked(layout: Layout) -> Option<(Layout, usize)> {
        let (both, offset) = Layout::new::<u64>().extend(layout).ok()?;
        // The mark sits right before the block.
        Some((both.align_to(align_of::<u64>()).ok()?.pad_to_align(), offset))
    }

    /// Allocates with one of the system's functions.
    fn allocate(&self, layout: Layout, with: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
        let Some((both, offset)) = Self::marked(layout) else { return core::ptr::null_mut() };
        let start = with(both);
        if start.is_null() {
            return start;
        }
        self.live.fetch_add(1, Ordering::SeqCst);
        let block = start.wrapping_add(offset);
        // SAFETY: at least a mark lies before the block, and the offset is a
        // multiple of its alignment.
        unsafe { mark_of(block).write(self.mark) };
        block
    }
}

/// Where the mark of a block is.
fn mark_of(block: *mut u8) -> *mut u64 {
    block.wrapping_sub(size_of::<u64>()).cast()
}

// SAFETY: blocks are those of the system's allocator, after their marks, with the
// alignment that was asked for.
unsafe impl GlobalAlloc for Marked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is not smaller than the caller's, which is not empty.
        self.allocate(layout, |layout| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.allocate(layout, |layout| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let mark = mark_of(block);
        // SAFETY: every block has one.
        if unsafe { mark.read() } != self.mark {
            std::process::abort();
        }
        // SAFETY: the block is ours. It has no mark from now on.
        unsafe { mark.write(0) };
        self.live.fetch_sub(1, Ordering::SeqCst);
        if let Some((both, offset)) = Self::marked(layout) {
            // SAFETY: `allocate` was given this layout, and moved on by this offset.
            unsafe { System.dealloc(block.wrapping_sub(offset), both) }
        }
    }
}
