//! Allocates vectors, boxes and `Arc`s with an error in place of an abort: [`try_vec`],
//! [`try_place`], [`fill`], [`try_box`], [`try_arc`], [`try_arc_from`], [`try_arc_slice`]; and
//! requests huge pages for large allocations: [`prefer_huge_pages`].

use alloc::alloc::alloc;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::error::Error;

/// Allocates an empty vector with a capacity of at least `len` elements.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
pub(crate) fn try_vec<T>(len: usize) -> Result<Vec<T>, Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut list = Vec::<T>::new();
    list.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    prefer_huge_pages(list.as_ptr().addr(), bytes);
    Ok(list)
}

/// `Box::new_uninit` that reports a failed allocation.
#[inline(always)]
pub(crate) fn try_place<S>() -> Option<Box<MaybeUninit<S>>> {
    if size_of::<S>() == 0 {
        return Some(Box::new_uninit());
    }
    // SAFETY: its size is not zero.
    let place = NonNull::new(unsafe { alloc(Layout::new::<S>()) })?;
    // SAFETY: the memory was allocated with the layout of an `S`, and may be uninitialized.
    Some(unsafe { Box::from_raw(place.cast::<MaybeUninit<S>>().as_ptr()) })
}

/// `Box::write`, which the oldest supported compiler does not have.
#[expect(clippy::unnecessary_box_returns, reason = "the value is already in the box")]
#[inline(always)]
pub(crate) fn fill<S>(mut place: Box<MaybeUninit<S>>, value: S) -> Box<S> {
    place.write(value);
    // SAFETY: it was initialized just now.
    unsafe { place.assume_init() }
}

/// `Box::new`.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn try_box<S>(value: S) -> Result<Box<S>, Error> {
    let place = try_place().ok_or(Error::OutOfMemory { bytes: size_of::<S>() })?;
    Ok(fill(place, value))
}

/// `Arc::new`, which aborts if there is no memory. Memory of the same size is allocated before, and
/// freed again, so only a small allocation, or one that another thread wins, aborts.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn try_arc<S>(value: S) -> Result<Arc<S>, Error> {
    has_memory_for(Layout::new::<S>())?;
    Ok(Arc::new(value))
}

/// `Arc::from` of a vector, as [`try_arc`].
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn try_arc_from<T>(elements: Vec<T>) -> Result<Arc<[T]>, Error> {
    has_memory_for(Layout::for_value(elements.as_slice()))?;
    Ok(elements.into())
}

/// `Arc::new_uninit_slice`, as [`try_arc`].
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn try_arc_slice<T>(len: usize) -> Result<Arc<[MaybeUninit<T>]>, Error> {
    let out_of_memory = Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) };
    let layout = Layout::array::<T>(len).map_err(|_| out_of_memory)?;
    has_memory_for(layout)?;
    let place = Arc::new_uninit_slice(len);
    prefer_huge_pages(place.as_ptr().addr(), layout.size());
    Ok(place)
}

/// Checks that there is memory for an `Arc` of that layout.
fn has_memory_for(layout: Layout) -> Result<(), Error> {
    let bytes = layout.size();
    // The two counts, and padding.
    let counts = size_of::<[usize; 2]>().saturating_add(layout.align().saturating_mul(2));
    let mut memory = Vec::<u8>::new();
    let len = bytes.saturating_add(counts);
    memory.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    // Otherwise the compiler may remove the allocation, and take it for successful.
    black_box(memory.as_ptr());
    Ok(())
}

/// Size in bytes from which huge pages are requested: the size of two of them.
const HUGE: usize = 4 << 20;
/// A multiple of the smallest page size of every current system.
const PAGE: usize = 1 << 16;

/// Requests huge pages for new memory: `byte_len` bytes from the address `start` on. Without them
/// a large copy spends most of its time in page faults, one for each page; NumPy requests huge
/// pages too. Does nothing for smaller memory, and on systems without this advice.
#[inline]
pub(crate) fn prefer_huge_pages(start: usize, byte_len: usize) {
    let Some((start, byte_len)) = whole_pages(start, byte_len) else { return };
    #[cfg(all(target_os = "linux", feature = "std", not(any(miri, loom))))]
    {
        let pages = core::ptr::without_provenance_mut(start);
        // SAFETY: the advice does not access the pages and does not change their contents, only
        // their size, and with it the time of accesses and the memory that is used. So any address
        // is allowed; for one that is not mapped the call returns an error.
        unsafe { libc::madvise(pages, byte_len, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", feature = "std", not(any(miri, loom)))))]
    let _ = (start, byte_len);
}

/// The pages that are completely in memory that is large enough for huge pages: their address and
/// their length in bytes.
#[inline]
const fn whole_pages(start: usize, byte_len: usize) -> Option<(usize, usize)> {
    if byte_len < HUGE {
        return None;
    }
    let skipped = start.wrapping_neg() % PAGE;
    let rest = byte_len.saturating_sub(skipped);
    Some((start.wrapping_add(skipped), rest.saturating_sub(rest % PAGE)))
}

#[cfg(test)]
mod tests {
    use super::whole_pages;

    #[test]
    fn smaller_memory_is_left_as_it_is() {
        assert_eq!(whole_pages(0x10_0000, 0), None);
        assert_eq!(whole_pages(0x10_0000, 0x3f_ffff), None);
        assert_eq!(whole_pages(0x10_0000, 0x40_0000), Some((0x10_0000, 0x40_0000)));
    }

    #[test]
    fn parts_of_pages_are_left_as_they_are() {
        assert_eq!(whole_pages(0x10_0000, 0x40_fff0), Some((0x10_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x41_0000), Some((0x11_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x40_fff0), Some((0x11_0000, 0x40_0000)));
        assert_eq!(whole_pages(0x10_0010, 0x40_ffef), Some((0x11_0000, 0x3f_0000)));
        assert_eq!(whole_pages(0x1f_fff0, 0x40_0000), Some((0x20_0000, 0x3f_0000)));
    }
}
