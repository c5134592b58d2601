//! An additional owner of shared memory, with its type erased: [`SharedOwner`].
//!
//! `Arc<dyn Storage>` would need no type of its own, but an `Arc<[T]>` cannot be converted
//! to one without another allocation.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use crate::storage::{DataMut, DataRef, Storage};

/// A type-erased storage. The export of a shared object stores one as its owner.
///
/// Storages of up to four words (`Arc<T>`, `Arc<[T]>`, `SharedBuffer<T>`) are stored
/// inline; larger ones are boxed.
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
    /// In an `UnsafeCell`, because the storage may contain one: memory behind a plain
    /// reference must not change.
    handle: UnsafeCell<Handle>,
    vtable: &'static VTable,
}

/// Inline room for a storage. Its words can contain pointers, and so keep their provenance.
type Handle = [Word; 4];

type Word = MaybeUninit<*const ()>;

/// The words of an owner, as plain data that is not an owner by itself.
///
/// A value with a `Drop` is moved through memory, and 16-byte loads of words that were just
/// stored wait for the store buffer to drain (measured: 28 ns per shared export; 20 ns word
/// by word). This type has no `Drop`, and is copied word by word.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    first: Word,
    second: Word,
    third: Word,
    fourth: Word,
    vtable: &'static VTable,
}

impl Parts {
    /// Reassembles the owner.
    ///
    /// # Safety
    ///
    /// 1. These parts are not used otherwise.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn into_owner(self) -> SharedOwner {
        let handle = [self.first, self.second, self.third, self.fourth];
        SharedOwner { handle: UnsafeCell::new(handle), vtable: self.vtable }
    }

    /// Writes the owner to its final place.
    ///
    /// # Safety
    ///
    /// 1. `place` is aligned, may be written, and contains no value yet.
    /// 2. These parts are not used otherwise.
    #[inline(always)]
    pub(crate) unsafe fn write(self, place: *mut SharedOwner) {
        // SAFETY: by 1 the field is inside of the allocation.
        let handle = unsafe { &raw mut (*place).handle }.cast::<Word>();
        // SAFETY: by 1 it may be written.
        unsafe { handle.write(self.first) };
        // SAFETY: a handle has four words.
        let second = unsafe { handle.add(1) };
        // SAFETY: by 1 it may be written.
        unsafe { second.write(self.second) };
        // SAFETY: a handle has four words.
        let third = unsafe { handle.add(2) };
        // SAFETY: by 1 it may be written.
        unsafe { third.write(self.third) };
        // SAFETY: a handle has four words.
        let fourth = unsafe { handle.add(3) };
        // SAFETY: by 1 it may be written.
        unsafe { fourth.write(self.fourth) };
        // SAFETY: by 1 the field is inside of the allocation.
        let vtable = unsafe { &raw mut (*place).vtable };
        // SAFETY: by 1 it may be written.
        unsafe { vtable.write(self.vtable) };
    }
}

/// The functions of an erased storage. Each takes a handle that contains the type for which
/// the table was made.
struct VTable {
    /// [`Storage::data`], for as long as the handle is borrowed.
    data: for<'a> unsafe fn(&'a UnsafeCell<Handle>) -> DataRef<'a>,
    lend: for<'a> unsafe fn(&'a mut UnsafeCell<Handle>) -> DataMut<'a>,
    share: unsafe fn(&UnsafeCell<Handle>) -> Option<SharedOwner>,
    drop: unsafe fn(*mut Handle),
}

// SAFETY: `new` accepts only storages that are `Send`.
unsafe impl Send for SharedOwner {}

impl SharedOwner {
    /// Erases the type of a storage that is one of several owners.
    ///
    /// Returns `None` only if the storage has to be boxed and there is no memory for the
    /// box.
    #[inline(always)]
    pub fn new<S: Storage + Send + 'static>(storage: S) -> Option<Self> {
        if fits::<S>() {
            Some(Self::in_place(storage))
        } else {
            let mut place = try_place::<S>()?;
            place.write(storage);
            // SAFETY: it was initialised just now.
            Some(Self::in_place(unsafe { place.assume_init() }))
        }
    }

    #[inline(always)]
    fn in_place<S: Storage + Send + 'static>(storage: S) -> Self {
        const {
            assert!(fits::<Box<S>>());
        }
        let mut handle = [Word::uninit(); 4];
        debug_assert!(fits::<S>());
        // SAFETY: both callers checked that an `S` fits in a handle, in size and in
        // alignment, and the handle is a local variable.
        unsafe { handle.as_mut_ptr().cast::<S>().write(storage) };
        Self { handle: UnsafeCell::new(handle), vtable: VTable::of::<S>() }
    }

    /// Takes the owner apart; the parts now own the storage.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> Parts {
        let owner = ManuallyDrop::new(self);
        let words = owner.handle.get().cast::<Word>();
        let word = |at| {
            // SAFETY: a handle has four words.
            let from = unsafe { words.add(at) };
            // SAFETY: it is a part of the owner, and any bytes are a valid `Word`.
            unsafe { from.read() }
        };
        Parts {
            first: word(0),
            second: word(1),
            third: word(2),
            fourth: word(3),
            vtable: owner.vtable,
        }
    }
}

/// Whether an `S` can be stored inline in a handle.
const fn fits<S>() -> bool {
    size_of::<S>() <= size_of::<Handle>() && align_of::<S>() <= align_of::<Handle>()
}

/// `Box::new_uninit` that reports a failed allocation.
#[inline(always)]
pub(super) fn try_place<S>() -> Option<Box<MaybeUninit<S>>> {
    if size_of::<S>() == 0 {
        return Some(Box::new_uninit());
    }
    // SAFETY: its size is not zero.
    let place = NonNull::new(unsafe { alloc(Layout::new::<S>()) })?;
    // SAFETY: the memory was allocated with the layout of an `S`, and may be uninitialised.
    Some(unsafe { Box::from_raw(place.cast::<MaybeUninit<S>>().as_ptr()) })
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

impl Drop for SharedOwner {
    fn drop(&mut self) {
        // SAFETY: the table was made for the type in this handle, and nothing uses the
        // handle after `drop`.
        unsafe { (self.vtable.drop)(self.handle.get()) }
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
