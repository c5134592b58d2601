//! A value, the count of its owners, and a C struct to lend it by, in one allocation:
//! [`Holder`].

use core::marker::PhantomData;
use core::mem::{forget, needs_drop, offset_of};
use core::ptr::NonNull;

use crate::contain::{contain, contain_second};
use crate::describe::{Checked, Describe, Slot};
use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::flags::Flags;
use crate::managed::ManagedTensor;
use crate::managed::head::Head;
use crate::managed::owners::Owners;
use crate::managed::place::Place;
use crate::stream::ConsumerPlace;

/// The C struct comes from here: only the versioned one can say READ_ONLY, which is
/// what nearly all that has several owners must say.
type Managed = DLManagedTensorVersioned;

/// One of the owners of a value. The others are more of these and, while the value
/// is lent, one consumer.
pub(crate) struct Holder<T> {
    block: Block<T>,
    owns: PhantomData<Owned<T>>,
}

/// The head is written by the thread that lends and read by the consumer, while others use
/// the value.
type Block<T> = Place<Owned<T>>;

#[repr(C)]
struct Owned<T> {
    owners: Owners,
    value: T,
}

// SAFETY: it gives out `&T` on any thread, and the thread of the last owner drops
// the `T`.
unsafe impl<T: Send + Sync> Send for Holder<T> {}
// SAFETY: as above; whoever has a reference to one can make another.
unsafe impl<T: Send + Sync> Sync for Holder<T> {}

impl<T> Holder<T> {
    /// The first owner of a value, which is dropped on an error.
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let block = Block::allocate()?;
        // SAFETY: the place is aligned for a value and holds nothing yet.
        unsafe { block.value().write(Owned { owners: Owners::one(), value }) };
        Ok(Self { block, owns: PhantomData })
    }

    #[inline]
    pub(crate) fn value(&self) -> &T {
        // SAFETY: it is initialised, a handle keeps the block alive, and only the only owner
        // gets a `&mut`.
        unsafe { place_of(self.block).as_ref() }
    }

    /// The value, if this is its only owner and it is not lent.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.owners().is_one() {
            return None;
        }
        // SAFETY: no one else has it, and this handle, through which alone it could
        // be cloned or lent, is borrowed uniquely.
        Some(unsafe { place_of(self.block).as_mut() })
    }

    /// The value, if this is its only owner and it is not lent; otherwise the owner.
    pub(crate) fn into_inner(self) -> Result<T, Self> {
        if !self.owners().is_one() {
            return Err(self);
        }
        let block = self.block;
        forget(self);
        // SAFETY: only we have the block. The value is initialised, and not used again.
        let value = unsafe { place_of(block).read() };
        // SAFETY: 1. As above. What is left in it needs no drop.
        unsafe { block.free() };
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
            // SAFETY: 1. No owner is left. 2. `new` initialised it.
            let run = || unsafe { self.block.release() };
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
    block: Block<T>,
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
        let slot = self.block.slot();
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
        let facts = checked.settle(block.slot())?;
        forget(self);
        let (head, ctx) = (block.head(), block.into_ctx());
        // The consumer before may have written to it, so all of it is written anew.
        // SAFETY: 1. The head is for the holder of the lend, which the deleter ends, and
        // until then the value is kept alive and as it is. 2. It ends the lend, once, and
        // by 1 on any thread. 3. Guaranteed by 2.
        Ok(unsafe { Head::finish(head, &facts, synchronized, Flags::NONE, ctx, returned::<T>) })
    }
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
    // SAFETY: 1. `finish` put the address of the block there.
    let Some(block) = (unsafe { Block::<T>::from_ctx(managed.manager_ctx) }) else { return };
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
/// 1. No owner is left.
#[cold]
unsafe fn free_contained<T>(block: Block<T>) {
    // SAFETY: 1. Guaranteed by 1 of this function. 2. `new` initialised it.
    let run = move || unsafe { block.release() };
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
unsafe fn owners<'a, T>(block: Block<T>) -> &'a Owners {
    const { assert!(offset_of!(Owned<T>, owners) == 0) }
    // SAFETY: by 1 the block is alive, and its first field is initialised and never borrowed
    // uniquely.
    unsafe { block.value().cast().as_ref() }
}

/// The place of the value of a block.
#[inline(always)]
fn place_of<T>(block: Block<T>) -> NonNull<T> {
    // SAFETY: the field is inside of the allocation.
    unsafe { block.value().byte_add(offset_of!(Owned<T>, value)) }.cast()
}
