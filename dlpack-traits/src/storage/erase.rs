//! Erases the type of a storage: [`SharedOwner::new`], and [`SharedOwner`] as a storage.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::fmt;

use crate::storage::shared_owner::{Handle, SharedOwner, VTable, Word};
use crate::storage::try_alloc::{fill, try_place};
use crate::storage::{DataMut, DataRef, Storage};

impl SharedOwner {
    /// Erases the type of a storage that is one of several owners.
    ///
    /// Returns `None` only if the storage has to be boxed and there is no memory for the
    /// box.
    #[inline(always)]
    pub fn new<S: Storage + Send + 'static>(storage: S) -> Option<Self> {
        if Self::fits::<S>() {
            Some(Self::in_place(storage))
        } else {
            Some(Self::in_place(fill(try_place::<S>()?, storage)))
        }
    }

    /// Whether an `S` can be stored inline.
    pub(crate) const fn fits<S>() -> bool {
        size_of::<S>() <= size_of::<Handle>() && align_of::<S>() <= align_of::<Handle>()
    }

    #[inline(always)]
    fn in_place<S: Storage + Send + 'static>(storage: S) -> Self {
        const {
            assert!(Self::fits::<Box<S>>());
        }
        let mut handle = [Word::uninit(); 4];
        debug_assert!(Self::fits::<S>());
        // SAFETY: both callers checked that an `S` fits in a handle, in size and in
        // alignment, and the handle is a local variable.
        unsafe { handle.as_mut_ptr().cast::<S>().write(storage) };
        Self { handle: UnsafeCell::new(handle), vtable: VTable::of::<S>() }
    }
}

impl VTable {
    /// The table for handles of type `S`.
    const fn of<S: Storage + 'static>() -> &'static Self {
        const {
            &VTable {
                data: |handle| {
                    // SAFETY: the caller guarantees that the handle contains an `S`.
                    unsafe { &*handle.get().cast::<S>() }.data()
                },
                lend: |handle| {
                    // SAFETY: as above, and the handle is uniquely borrowed.
                    unsafe { &mut *handle.get_mut().as_mut_ptr().cast::<S>() }.data_mut()
                },
                share: |handle| {
                    // SAFETY: the caller guarantees that the handle contains an `S`.
                    unsafe { &*handle.get().cast::<S>() }.share()
                },
                drop: |handle| {
                    // SAFETY: the caller guarantees that the handle contains an `S`, which
                    // nothing uses again.
                    unsafe { handle.cast::<S>().drop_in_place() }
                },
            }
        }
    }
}

impl Storage for SharedOwner {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        // SAFETY: the table was made for the type in this handle.
        unsafe { (self.vtable.data)(&self.handle) }
    }

    #[inline]
    fn data_mut(&mut self) -> DataMut<'_> {
        // SAFETY: the table was made for the type in this handle.
        unsafe { (self.vtable.lend)(&mut self.handle) }
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        // SAFETY: the table was made for the type in this handle.
        unsafe { (self.vtable.share)(&self.handle) }
    }
}

impl fmt::Debug for SharedOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedOwner").field("data", &self.data()).finish_non_exhaustive()
    }
}
