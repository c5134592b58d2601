//! A value, its reference count, and a C struct to export it with, in one allocation:
//! [`ArcHandle`].

use core::marker::PhantomData;
use core::mem::{forget, needs_drop, offset_of};

use crate::describe::{Checked, Describe, SlotMut};
use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::flags::Flags;
use crate::managed::allocation::Allocation;
use crate::managed::head::Head;
use crate::managed::{ManagedStruct, ManagedTensor};
use crate::panic::{catch_panic, catch_second_panic};
use crate::refcount::RefCount;
use crate::stream::ConsumerPlace;

/// The C struct is the versioned one: only that can express READ_ONLY, which nearly all
/// values with several owners need.
type Managed = DLManagedTensorVersioned;

/// One of the owners of a value. The other owners are clones of this and, while the value
/// is lent, one consumer.
pub(crate) struct ArcHandle<T> {
    block: Block<T>,
    owns: PhantomData<Owned<T>>,
}

/// The head is written by the thread that lends and read by the consumer, while other
/// owners use the value.
type Block<T> = Allocation<Owned<T>>;

#[repr(C)]
struct Owned<T> {
    owners: RefCount,
    value: T,
}

// SAFETY: it returns `&T` on any thread, and the thread of the last owner drops the `T`.
unsafe impl<T: Send + Sync> Send for ArcHandle<T> {}
// SAFETY: as above; a thread with a reference to one can clone it.
unsafe impl<T: Send + Sync> Sync for ArcHandle<T> {}

impl<T> ArcHandle<T> {
    /// Creates the first owner of a value. On an error the value is dropped.
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let block = Block::allocate()?;
        // SAFETY: the place is aligned for a value and contains none yet.
        unsafe { block.value().write(Owned { owners: RefCount::one(), value }) };
        Ok(Self { block, owns: PhantomData })
    }

    #[inline]
    pub(crate) fn value(&self) -> &T {
        &self.owned().value
    }

    /// Returns the value, if this is its only owner and it is not lent.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.owners().is_one() {
            return None;
        }
        // SAFETY: no one else has access, and this handle, which alone could be cloned or
        // lent, is borrowed uniquely.
        Some(&mut unsafe { self.block.value().as_mut() }.value)
    }

    /// Returns the value, if this is its only owner and it is not lent; otherwise this
    /// owner.
    pub(crate) fn into_inner(self) -> Result<T, Self> {
        if !self.owners().is_one() {
            return Err(self);
        }
        let block = self.block;
        forget(self);
        // SAFETY: no other owner has the block. The value is initialized, and not used
        // again.
        let Owned { value, .. } = unsafe { block.value().read() };
        // SAFETY: 1. No owner is left; the remaining fields of the block need no drop.
        unsafe { block.free() };
        Ok(value)
    }

    #[inline]
    fn owners(&self) -> &RefCount {
        &self.owned().owners
    }

    #[inline]
    fn owned(&self) -> &Owned<T> {
        // SAFETY: the value is initialized, a handle keeps the block alive, and only a
        // single owner gets a `&mut`.
        unsafe { self.block.value().as_ref() }
    }

    /// Lends the value inside of its block; `None` while it is lent to another consumer.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Option<StructClaim<'_, T>> {
        // Constructed only after a successful `lend`, because its drop ends the lend.
        if self.owners().lend() {
            Some(StructClaim { block: self.block, handle: PhantomData })
        } else {
            None
        }
    }
}

impl<T> Clone for ArcHandle<T> {
    /// Returns another owner.
    ///
    /// # Panics
    ///
    /// If the reference count would exceed a quarter of the number of bytes of the address
    /// space.
    #[inline]
    fn clone(&self) -> Self {
        assert!(self.owners().add(), "too many owners of one value");
        Self { block: self.block, owns: PhantomData }
    }
}

impl<T> Drop for ArcHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if self.owners().remove() {
            // SAFETY: 1. No owner is left. 2. `new` initialized it.
            let run = || unsafe { self.block.release() };
            if needs_drop::<T>() {
                catch_second_panic(run);
            } else {
                run();
            }
        }
    }
}

/// The right to fill in the C struct of a block. Dropping it ends the lend.
pub(crate) struct StructClaim<'a, T> {
    /// The block of the handle. Stored here, so that it is read once: user code may run
    /// before its next use, after which the compiler would read it again.
    block: Block<T>,
    handle: PhantomData<&'a ArcHandle<T>>,
}

impl<T> StructClaim<'_, T> {
    /// Starts the description of the value in the slot of its block.
    ///
    /// # Safety
    ///
    /// 1. The result is consumed, and everything derived from it is dropped or passed to
    ///    [`finish`](Self::finish), before any other use of `self`.
    #[inline(always)]
    pub(crate) unsafe fn describe<'a>(&self) -> Describe<'a> {
        // SAFETY: 1. Only the current lend accesses the slot, and by our caller's 1 only
        // through the result. 2. `new` initialized the spill.
        let mut slot = unsafe { SlotMut::at(self.block.slot()) };
        // The previous consumer may have had more dimensions than fit inline.
        slot.clear();
        Describe::new(slot)
    }

    /// Completes the C struct and gives it away.
    ///
    /// # Errors
    ///
    /// Those of [`Checked::into_facts`].
    ///
    /// # Safety
    ///
    /// 1. `checked` was lent by the value of this block, which any thread may read and
    ///    drop.
    /// 2. Device memory was synchronized with a consumer in the place `synchronized`.
    #[inline(always)]
    pub(crate) unsafe fn finish(
        self,
        checked: Checked<'_>,
        synchronized: ConsumerPlace,
    ) -> Result<ManagedTensor, Error> {
        let block = self.block;
        let facts = checked.into_facts(block.slot())?;
        forget(self);
        let (head, ctx) = (block.head(), block.into_ctx());
        // The previous consumer may have written to the head, so all of it is written
        // again.
        // SAFETY: 1. Only the current lend accesses the head, until the deleter ends the
        // lend; the value is kept alive and unchanged until then. 2. The deleter ends the
        // lend, once, and by 1 on any thread. 3. Guaranteed by our caller's 2.
        Ok(unsafe { Head::finish(head, &facts, synchronized, Flags::NONE, ctx, returned::<T>) })
    }
}

impl<T> Drop for StructClaim<'_, T> {
    fn drop(&mut self) {
        // SAFETY: 1. The borrowed handle is still an owner, so this is not the last.
        unsafe { owners(self.block) }.give_back();
    }
}

/// The deleter of a value that is lent inside of its block.
///
/// It finds the block through `manager_ctx`, as the deleter of a packet does.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`StructClaim::finish`] wrote for the same `T`, or
///    to a copy of one whose `manager_ctx` was not changed.
/// 2. This is the only call for that lend, and its consumer uses neither the struct nor the
///    memory any more.
unsafe extern "C" fn returned<T>(managed: *mut Managed) {
    // SAFETY: 1. By 1 it points to such a struct.
    let Some(ctx) = (unsafe { Managed::read_ctx(managed) }) else { return };
    // SAFETY: 1. `finish` stored the address of the block there.
    let block = unsafe { Block::<T>::from_ctx(ctx) };
    // SAFETY: 1. By 2 the lend has not ended, and keeps the block alive.
    if unsafe { owners(block) }.give_back() {
        // SAFETY: 1. No owner is left.
        unsafe { free_contained(block) }
    }
}

/// Frees a block in a call from C, where no panic may unwind.
///
/// # Safety
///
/// 1. No owner is left.
#[cold]
unsafe fn free_contained<T>(block: Block<T>) {
    // SAFETY: 1. Guaranteed by our caller's 1. 2. `new` initialized it.
    let run = move || unsafe { block.release() };
    if needs_drop::<T>() {
        // The block is freed either way, and a deleter cannot report the panic.
        let _ = catch_panic(run);
    } else {
        run();
    }
}

/// The owners of a block.
///
/// # Safety
///
/// 1. At least one owner exists for as long as the result is used.
#[inline]
unsafe fn owners<'a, T>(block: Block<T>) -> &'a RefCount {
    const { assert!(offset_of!(Owned<T>, owners) == 0) }
    // SAFETY: by 1 the block is alive, and its first field is initialized and never borrowed
    // uniquely.
    unsafe { block.value().cast().as_ref() }
}
