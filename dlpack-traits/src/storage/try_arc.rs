//! A reference-counted value whose allocation may fail: [`TryArc`].

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::try_box::{fill, try_place};
use crate::error::Error;
use crate::refcount::RefCount;

/// An `Arc` without weak references, whose constructor returns an error if there is no
/// memory, where `Arc` aborts the process.
pub(crate) struct TryArc<T> {
    place: NonNull<Inner<T>>,
    owns: PhantomData<Inner<T>>,
}

/// Uninitialized memory for a value that will be [`TryArc`].
///
/// The allocation is a separate step, because any value that is computed before it is
/// spilled to the stack during the call, and reloaded.
pub(crate) struct UninitTryArc<T> {
    place: Box<MaybeUninit<Inner<T>>>,
}

/// A value that will be [`TryArc`], and has one owner so far, which can change it.
///
/// A value that is completed before it is moved to its final place is copied by 16-byte
/// loads, which wait for the 8-byte stores before them (store forwarding fails).
pub(crate) struct UniqueTryArc<T> {
    place: Box<Inner<T>>,
}

struct Inner<T> {
    owners: RefCount,
    value: T,
}

// SAFETY: it returns `&T` on any thread, and the thread of the last owner drops the `T`.
unsafe impl<T: Send + Sync> Send for TryArc<T> {}
// SAFETY: as above; a thread with a reference to one can clone it.
unsafe impl<T: Send + Sync> Sync for TryArc<T> {}

impl<T> UninitTryArc<T> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, Error> {
        match try_place() {
            Some(place) => Ok(Self { place }),
            None => Err(Error::OutOfMemory { bytes: size_of::<Inner<T>>() }),
        }
    }

    /// Moves a value to its final place.
    #[inline(always)]
    pub(crate) fn fill(self, value: T) -> UniqueTryArc<T> {
        UniqueTryArc { place: fill(self.place, Inner { owners: RefCount::one(), value }) }
    }
}

impl<T> UniqueTryArc<T> {
    /// Returns the first owner of the value.
    #[inline(always)]
    pub(crate) fn into_counted(self) -> TryArc<T> {
        TryArc { place: NonNull::from(Box::leak(self.place)), owns: PhantomData }
    }
}

impl<T> Deref for UniqueTryArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.place.value
    }
}

impl<T> DerefMut for UniqueTryArc<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.place.value
    }
}

impl<T> TryArc<T> {
    /// Creates the first owner of a value. On an error the value is dropped.
    #[inline]
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        Ok(UninitTryArc::new()?.fill(value).into_counted())
    }

    /// Returns the value, if this is its only owner.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.place().owners.is_one() {
            return None;
        }
        // SAFETY: there is no other owner, and this one, which alone could be cloned, is
        // borrowed uniquely.
        let place = unsafe { self.place.as_mut() };
        Some(&mut place.value)
    }

    #[inline]
    fn place(&self) -> &Inner<T> {
        // SAFETY: the allocation is alive until its last owner is dropped.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Deref for TryArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.place().value
    }
}

impl<T> Clone for TryArc<T> {
    /// Returns another owner.
    ///
    /// # Panics
    ///
    /// If the reference count would exceed half of the number of bytes of the address
    /// space.
    #[inline]
    fn clone(&self) -> Self {
        assert!(self.place().owners.add(), "too many owners of one value");
        Self { place: self.place, owns: PhantomData }
    }
}

impl<T> Drop for TryArc<T> {
    #[inline]
    fn drop(&mut self) {
        let owners = &self.place().owners;
        // An only owner is not subtracted: no other thread can add one, because this one is
        // mutably borrowed.
        if owners.is_one() || owners.remove() {
            // SAFETY: the pointer came from a box, and no owner is left.
            drop(unsafe { Box::from_raw(self.place.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for TryArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::sync::Arc;

    use super::*;
    use crate::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_last_owner_drops_the_value() {
        let alive = Arc::new(());
        let mut one = UninitTryArc::new().unwrap().fill((6, Arc::clone(&alive)));
        one.0 += 1;
        let mut one = one.into_counted();
        one.get_mut().unwrap().0 += 1;
        let other = one.clone();
        assert!(one.get_mut().is_none());
        assert_eq!((one.0, other.0), (8, 8));
        drop(one);
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(other.clone());
        assert_eq!((other.0, Arc::strong_count(&alive)), (8, 2));
        drop(other);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn an_unshared_value_is_dropped() {
        let alive = Arc::new(());
        let vacant = UninitTryArc::new().unwrap();
        drop(vacant.fill(Arc::clone(&alive)));
        drop(UninitTryArc::<Arc<()>>::new());
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn owners_can_be_forgotten_without_end() {
        let one = TryArc::new(7).unwrap();
        one.place().owners.set(isize::MAX.unsigned_abs());
        core::mem::forget(one.clone());
        let another = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| one.clone()));
        assert!(another.is_err());
        assert_eq!(alloc::format!("{one:?}"), "7");
        one.place().owners.set(2);
    }

    #[test]
    fn owners_on_many_threads() {
        let alive = Arc::new(AtomicUsize::new(0));
        let one = TryArc::new(Arc::clone(&alive)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut mine = one.clone();
                scope.spawn(move || {
                    for _ in 0..10 {
                        mine = mine.clone();
                        mine.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            drop(one);
        });
        assert_eq!((alive.load(Ordering::Relaxed), Arc::strong_count(&alive)), (40, 1));
    }
}
