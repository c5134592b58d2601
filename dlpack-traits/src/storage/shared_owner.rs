//! One more owner of shared memory, whatever its type: [`SharedOwner`].

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;

use crate::storage::{Data, DataRef, Storage};

/// A storage of any type, erased: the owner that an export of a shared object
/// holds.
///
/// Handles of up to four words (`Arc<T>`, `Arc<[T]>`, `SharedBuffer<T>`) are
/// kept in place; larger ones are boxed.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{SharedOwner, Storage};
///
/// let samples: Arc<[f32]> = Arc::from([1.0, 2.0]);
/// let owner = SharedOwner::new(Arc::clone(&samples)).expect("four words or fewer");
/// assert_eq!(owner.data().as_ptr(), samples.as_ptr().cast());
/// ```
pub struct SharedOwner {
    /// In a cell, because the storage may have one: through a reference to
    /// plain memory nothing in it could be changed.
    handle: UnsafeCell<Handle>,
    vtable: &'static VTable,
}

/// Room for a handle in place. It holds pointers, hence pointer-sized words.
type Handle = MaybeUninit<[*const (); 4]>;

/// What can be done with a handle. Each function takes the address of a handle
/// of the type for which the table was made.
struct VTable {
    storage: unsafe fn(*const Handle) -> *const dyn Storage,
    storage_mut: unsafe fn(*mut Handle) -> *mut dyn Storage,
    drop: unsafe fn(*mut Handle),
}

// SAFETY: `new` only takes handles that are `Send`.
unsafe impl Send for SharedOwner {}

impl SharedOwner {
    /// Erases the type of a storage that is one of several owners.
    ///
    /// Returns `None` only if the handle has to be boxed and memory for that
    /// cannot be had.
    pub fn new<S: Storage + Send + 'static>(storage: S) -> Option<Self> {
        if fits::<S>() {
            Some(Self::in_place(storage))
        } else {
            try_box(storage).map(Self::in_place)
        }
    }

    fn in_place<S: Storage + Send + 'static>(storage: S) -> Self {
        const {
            assert!(fits::<Box<S>>());
        }
        let mut handle = Handle::uninit();
        debug_assert!(fits::<S>());
        // SAFETY: both callers checked that an `S` fits into a handle, in size
        // and in alignment, and the handle is ours.
        unsafe { handle.as_mut_ptr().cast::<S>().write(storage) };
        Self { handle: UnsafeCell::new(handle), vtable: VTable::of::<S>() }
    }

    /// The storage behind the handle.
    #[inline]
    fn storage(&self) -> &dyn Storage {
        // SAFETY: the table was made for the type of this handle.
        let storage = unsafe { (self.vtable.storage)(self.handle.get()) };
        // SAFETY: it points into `self`, which is borrowed for as long.
        unsafe { &*storage }
    }

    /// The storage behind the handle, uniquely.
    #[inline]
    fn storage_mut(&mut self) -> &mut dyn Storage {
        // SAFETY: the table was made for the type of this handle.
        let storage = unsafe { (self.vtable.storage_mut)(self.handle.get()) };
        // SAFETY: it points into `self`, which is uniquely borrowed for as long.
        unsafe { &mut *storage }
    }
}

/// Whether an `S` can be kept in the memory of a handle.
const fn fits<S>() -> bool {
    size_of::<S>() <= size_of::<Handle>() && align_of::<S>() <= align_of::<Handle>()
}

/// `Box::new` that reports a failed allocation.
///
/// In line, and the memory is had before the value is moved, which then is moved less.
#[inline(always)]
pub(super) fn try_box<S>(value: S) -> Option<Box<S>> {
    let mut place = try_place::<S>()?;
    place.write(value);
    // SAFETY: it was written just now.
    Some(unsafe { place.assume_init() })
}

/// `Box::new_uninit` that reports a failed allocation.
fn try_place<S>() -> Option<Box<MaybeUninit<S>>> {
    let mut place = alloc::vec::Vec::new();
    place.try_reserve_exact(1).ok()?;
    place.push(MaybeUninit::uninit());
    // A slice of one element has the memory of that element.
    let slice: Box<[MaybeUninit<S>]> = place.into_boxed_slice();
    // SAFETY: the slice has exactly one element, and both layouts are that of `S`.
    Some(unsafe { Box::from_raw(Box::into_raw(slice).cast::<MaybeUninit<S>>()) })
}

impl VTable {
    /// The table for handles of type `S`.
    const fn of<S: Storage + 'static>() -> &'static Self {
        const {
            &VTable {
                storage: |handle| handle.cast::<S>() as *const dyn Storage,
                storage_mut: |handle| handle.cast::<S>() as *mut dyn Storage,
                drop: |handle| {
                    // SAFETY: the caller promises a handle that holds an `S`
                    // which nobody uses again.
                    unsafe { handle.cast::<S>().drop_in_place() }
                },
            }
        }
    }
}

impl Drop for SharedOwner {
    fn drop(&mut self) {
        // SAFETY: the table was made for the type of this handle, and nothing
        // uses the handle after `drop`.
        unsafe { (self.vtable.drop)(self.handle.get()) }
    }
}

impl Storage for SharedOwner {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        self.storage().data()
    }

    #[inline]
    fn lend(&mut self) -> Data<'_> {
        self.storage_mut().lend()
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        self.storage().share()
    }
}

impl fmt::Debug for SharedOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedOwner").field("data", &self.data()).finish_non_exhaustive()
    }
}
