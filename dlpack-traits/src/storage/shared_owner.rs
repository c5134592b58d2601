//! An additional owner of shared memory, with its type erased: [`SharedOwner`].
//!
//! `Arc<dyn Storage>` would need no type of its own, but an `Arc<[T]>` cannot be converted
//! to one without another allocation.

use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, MaybeUninit, offset_of};

use crate::storage::{DataMut, DataRef};

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
    pub(super) handle: UnsafeCell<Handle>,
    pub(super) vtable: &'static VTable,
}

/// Inline room for a storage. Its words can contain pointers, and so keep their provenance.
pub(super) type Handle = [Word; 4];

pub(super) type Word = MaybeUninit<*const ()>;

/// The words of an owner, as plain data that is not an owner by itself.
///
/// A value with a `Drop` is moved through memory, and 16-byte loads of words that were just
/// stored wait for the store buffer to drain (measured: 28 ns per shared export; 20 ns word
/// by word). This type has no `Drop`, and is copied word by word.
#[derive(Clone, Copy)]
pub(crate) struct OwnerWords {
    handle: Handle,
    vtable: &'static VTable,
}

impl OwnerWords {
    /// Reassembles the owner.
    ///
    /// # Safety
    ///
    /// 1. These parts are not used otherwise.
    #[inline(always)]
    pub(crate) unsafe fn into_owner(self) -> SharedOwner {
        /// Takes each word in a register: an argument in memory would be written before the
        /// caller's branch, also where it is not taken (measured: 5 instructions per export).
        #[cold]
        #[inline(never)]
        fn reassembled(a: Word, b: Word, c: Word, d: Word, vtable: &'static VTable) -> SharedOwner {
            SharedOwner { handle: UnsafeCell::new([a, b, c, d]), vtable }
        }
        let [a, b, c, d] = self.handle;
        reassembled(a, b, c, d, self.vtable)
    }

    /// Writes the owner to its final place.
    ///
    /// # Safety
    ///
    /// 1. `place` is aligned, may be written, and contains no value yet.
    /// 2. These parts are not used otherwise.
    #[inline(always)]
    pub(crate) unsafe fn write(self, place: *mut SharedOwner) {
        let handle = place.wrapping_byte_add(offset_of!(SharedOwner, handle)).cast::<Word>();
        for (at, word) in self.handle.into_iter().enumerate() {
            // SAFETY: by 1 it may be written; a handle has four words.
            unsafe { handle.wrapping_add(at).write(word) };
        }
        let vtable = place.wrapping_byte_add(offset_of!(SharedOwner, vtable));
        // SAFETY: by 1 it may be written.
        unsafe { vtable.cast::<&'static VTable>().write(self.vtable) };
    }
}

/// The functions of an erased storage. Each takes a handle that contains the type for which
/// the table was made.
pub(super) struct VTable {
    /// [`Storage::data`](crate::Storage::data), for as long as the handle is borrowed.
    pub(super) data: for<'a> unsafe fn(&'a UnsafeCell<Handle>) -> DataRef<'a>,
    pub(super) lend: for<'a> unsafe fn(&'a mut UnsafeCell<Handle>) -> DataMut<'a>,
    pub(super) share: unsafe fn(&UnsafeCell<Handle>) -> Option<SharedOwner>,
    pub(super) drop: unsafe fn(*mut Handle),
}

// SAFETY: `new` (in `erase`) accepts only storages that are `Send`.
unsafe impl Send for SharedOwner {}

impl SharedOwner {
    /// Takes the owner apart; the parts now own the storage.
    #[inline(always)]
    pub(crate) fn into_words(self) -> OwnerWords {
        let owner = ManuallyDrop::new(self);
        let words = owner.handle.get().cast::<Word>();
        // SAFETY: a handle has four words, and any bytes are a valid `Word`.
        let handle = [0, 1, 2, 3].map(|at| unsafe { words.wrapping_add(at).read() });
        OwnerWords { handle, vtable: owner.vtable }
    }
}

impl Drop for SharedOwner {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the table was made for the type in this handle, and nothing uses the
        // handle after `drop`.
        unsafe { (self.vtable.drop)(self.handle.get()) }
    }
}
