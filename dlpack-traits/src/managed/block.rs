//! A value, the count of its owners, and a C struct to lend it by, in one allocation:
//! [`Holder`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, forget, needs_drop, offset_of};
use core::ptr::NonNull;

use crate::contain::{contain, contain_second};
use crate::describe::{Checked, Describe, Slot};
use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::owners::Owners;
use crate::managed::packet::Head;
use crate::stream::ConsumerPlace;

/// The C struct comes from here: only the versioned one can say READ_ONLY, which is
/// what nearly all that has several owners must say.
type Managed = DLManagedTensorVersioned;

/// One of the owners of a value. The others are more of these and, while the value
/// is lent, one consumer.
pub(crate) struct Holder<T> {
    block: NonNull<Block<T>>,
    owns: PhantomData<Block<T>>,
}

/// The fields are reached through raw pointers, each on its own: a consumer has the
/// head while others are in use.
#[repr(C)]
struct Block<T> {
    owners: Owners,
    value: T,
    /// Written by the thread that lends, read by the consumer.
    head: MaybeUninit<Head>,
}

// SAFETY: it gives out `&T` on any thread, and the thread of the last owner drops
// the `T`.
unsafe impl<T: Send + Sync> Send for Holder<T> {}
// SAFETY: as above; whoever has a reference to one can make another.
unsafe impl<T: Send + Sync> Sync for Holder<T> {}

impl<T> Holder<T> {
    /// The first owner of a value, which is dropped on an error.
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let layout = Layout::new::<Block<T>>();
        // SAFETY: a block has a struct in it, so its size is not zero.
        let block = unsafe { alloc(layout) };
        let Some(block) = NonNull::new(block.cast::<Block<T>>()) else {
            return Err(Error::OutOfMemory { bytes: layout.size() });
        };
        let new = Block { owners: Owners::one(), value, head: MaybeUninit::uninit() };
        // SAFETY: the allocation has the layout of a block, and holds nothing yet.
        unsafe { block.write(new) };
        // SAFETY: 1. It is the slot of a block, which only we know.
        unsafe { Slot::init(slot(block)) };
        Ok(Self { block, owns: PhantomData })
    }

    #[inline]
    pub(crate) fn value(&self) -> &T {
        // SAFETY: a handle keeps the block alive, so the field is inside it.
        let value = unsafe { &raw const (*self.block.as_ptr()).value };
        // SAFETY: it is initialised, and by `&mut` only who is alone has it.
        unsafe { &*value }
    }

    /// The value, if this is its only owner and it is not lent.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.owners().is_one() {
            return None;
        }
        // SAFETY: a handle keeps the block alive, so the field is inside it.
        let value = unsafe { &raw mut (*self.block.as_ptr()).value };
        // SAFETY: nobody else has it, and this handle, through which alone it could
        // be cloned or lent, is borrowed uniquely.
        Some(unsafe { &mut *value })
    }

    /// The value, if this is its only owner and it is not lent; otherwise the owner.
    pub(crate) fn into_inner(self) -> Result<T, Self> {
        if !self.owners().is_one() {
            return Err(self);
        }
        let block = self.block;
        forget(self);
        // SAFETY: nobody has the block but us, who have forgotten the handle.
        let value = unsafe { &raw const (*block.as_ptr()).value };
        // SAFETY: as above; it is initialised, and not used again.
        let value = unsafe { value.read() };
        // SAFETY: 1. `new` initialised the spill, and this is the end. 2. As before.
        unsafe { Slot::clear(slot(block)) };
        // SAFETY: `new` allocated it with this layout; what is left in it needs no drop.
        unsafe { dealloc(block.as_ptr().cast(), Layout::new::<Block<T>>()) };
        Ok(value)
    }

    #[inline]
    fn owners(&self) -> &Owners {
        // SAFETY: a handle keeps the block alive.
        unsafe { owners(self.block) }
    }

    /// Lends the value in its place; `None` while somebody has it so.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Option<Lent<'_, T>> {
        // Not made where it is not the case: dropping it ends a lend.
        if self.owners().lend() {
            Some(Lent { block: self.block, handle: PhantomData })
        } else {
            None
        }
    }
}

impl<T> Clone for Holder<T> {
    /// Another owner.
    ///
    /// # Panics
    ///
    /// Where there are more than a quarter of the address space has bytes.
    #[inline]
    fn clone(&self) -> Self {
        assert!(self.owners().add(), "too many owners of one value");
        Self { block: self.block, owns: PhantomData }
    }
}

impl<T> Drop for Holder<T> {
    #[inline]
    fn drop(&mut self) {
        if self.owners().remove() {
            // SAFETY: 1. Nobody is left.
            let run = || unsafe { free(self.block) };
            if needs_drop::<T>() {
                contain_second(run);
            } else {
                run();
            }
        }
    }
}

/// The right to fill in the C struct of a block. Dropping it ends the lend.
pub(crate) struct Lent<'a, T> {
    /// The block of the handle. Read once: user code may run before the next use, after which
    /// it would be read again.
    block: NonNull<Block<T>>,
    handle: PhantomData<&'a Holder<T>>,
}

impl<T> Lent<'_, T> {
    /// The right to describe the value in its block.
    ///
    /// # Safety
    ///
    /// 1. It is used up, and what came of it is gone or an argument of
    ///    [`finish`](Self::finish), before anything else is done with this.
    #[inline(always)]
    pub(crate) unsafe fn describe<'a>(&self) -> Describe<'a> {
        let slot = slot(self.block);
        // The consumer before may have had more dimensions than fit here.
        // SAFETY: 1. `new` initialised the spill, and nothing but the holder of the lend
        // accesses the slot. 2. The lend before is over.
        unsafe { Slot::clear(slot) };
        // SAFETY: 1. As above, and by 1 of this function. 2. `new` did it.
        unsafe { Describe::at(slot) }
    }

    /// Writes the struct and gives it away.
    ///
    /// # Errors
    ///
    /// Those of [`Checked::settle`].
    ///
    /// # Safety
    ///
    /// 1. `checked` was lent by the value of this block, which any thread may read and
    ///    drop.
    /// 2. Memory of a device was synchronized with a consumer in that place.
    #[inline(always)]
    pub(crate) unsafe fn finish(
        self,
        checked: Checked<'_>,
        synchronized: ConsumerPlace,
    ) -> Result<ManagedTensor, Error> {
        let block = self.block;
        let facts = checked.settle(slot(block))?;
        forget(self);
        let ctx = block.as_ptr().cast();
        // The consumer before may have written to it, so all of it is written anew.
        // SAFETY: 1. The head is for the holder of the lend, which the deleter ends, and
        // until then the value is kept alive and as it is. 2. It ends the lend, once, and
        // by 1 on any thread. 3. Guaranteed by 2.
        Ok(unsafe {
            Head::finish(head(block), &facts, synchronized, Flags::NONE, ctx, returned::<T>)
        })
    }
}

/// The head of a block.
#[inline(always)]
fn head<T>(block: NonNull<Block<T>>) -> NonNull<Head> {
    let head = block.as_ptr().wrapping_byte_add(offset_of!(Block<T>, head)).cast();
    // SAFETY: it is a part of an allocation, and so not at address 0.
    unsafe { NonNull::new_unchecked(head) }
}

/// The slot of a block.
#[inline(always)]
fn slot<T>(block: NonNull<Block<T>>) -> NonNull<Slot> {
    // SAFETY: 1. It is the head of a block.
    unsafe { Head::slot(head(block)) }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // SAFETY: 1. The handle is borrowed, and is an owner still: this was not the last.
        unsafe { owners(self.block) }.give_back();
    }
}

/// The deleter of a value that was lent in its place.
///
/// It finds the block through `manager_ctx`, as that of a packet does.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`Lent::finish`] wrote for the same `T`, or
///    to a copy of one whose `manager_ctx` was not changed.
/// 2. This is the only call for that lend, and its consumer uses neither the struct
///    nor the memory any more.
unsafe extern "C" fn returned<T>(managed: *mut Managed) {
    let Some(managed) = NonNull::new(managed) else { return };
    // SAFETY: by 1 it points to such a struct, which is plain data.
    let managed = unsafe { managed.read() };
    let Some(block) = NonNull::new(managed.manager_ctx.cast::<Block<T>>()) else { return };
    // SAFETY: by 2 the lend is not over, and keeps the block alive.
    if unsafe { owners(block) }.give_back() {
        // SAFETY: 1. Nobody is left.
        unsafe { free_contained(block) }
    }
}

/// Frees a block for a caller in C.
///
/// # Safety
///
/// 1. As for [`free`].
#[cold]
unsafe fn free_contained<T>(block: NonNull<Block<T>>) {
    // SAFETY: 1. is 1. of this function.
    let run = move || unsafe { free(block) };
    if needs_drop::<T>() {
        // It is freed either way, and there is nobody to tell.
        let _ = contain(run);
    } else {
        run();
    }
}

/// The owners of a block.
///
/// # Safety
///
/// 1. As long as the result is used, one of them is there.
#[inline]
unsafe fn owners<'a, T>(block: NonNull<Block<T>>) -> &'a Owners {
    // SAFETY: by 1 the block is alive, so the field is inside it.
    let owners = unsafe { &raw const (*block.as_ptr()).owners };
    // SAFETY: by 1; it is initialised, and never borrowed uniquely.
    unsafe { &*owners }
}

/// Drops a value and frees its block, the latter also where the former panics.
///
/// # Safety
///
/// 1. The last owner is gone.
unsafe fn free<T>(block: NonNull<Block<T>>) {
    struct Free(NonNull<u8>, Layout);
    impl Drop for Free {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: `new` allocated the block with this layout.
            unsafe { dealloc(self.0.as_ptr(), self.1) }
        }
    }
    let _free = Free(block.cast(), Layout::new::<Block<T>>());
    // SAFETY: 1. `new` initialised the spill, and by 1 this is the end. 2. As before.
    unsafe { Slot::clear(slot(block)) };
    // SAFETY: by 1 nobody else uses the block, so the field is inside it.
    let value = unsafe { &raw mut (*block.as_ptr()).value };
    // SAFETY: it is initialised, and only this drops it.
    unsafe { value.drop_in_place() }
}
