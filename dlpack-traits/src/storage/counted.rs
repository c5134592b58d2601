//! Several owners of one value, made by an allocation that may fail: [`Counted`].

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::shared_owner::try_box;
use crate::error::Error;
use crate::sync::{AtomicUsize, Ordering};

/// What `Arc` is, but that to make one is an error where there is no memory, and
/// not the end of the program.
pub(crate) struct Counted<T> {
    place: NonNull<Place<T>>,
    owns: PhantomData<Place<T>>,
}

struct Place<T> {
    owners: AtomicUsize,
    value: T,
}

/// More owners than that have been forgotten, not dropped.
const MOST: usize = isize::MAX.unsigned_abs();

// SAFETY: it gives out `&T` on any thread, and the thread of the last owner drops
// the `T`.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: as above; whoever has a reference to one can make another.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Counted<T> {
    /// The first owner of a value, which is dropped on an error.
    #[inline(always)]
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let place = try_box(Place { owners: AtomicUsize::new(1), value });
        let place = place.ok_or(Error::OutOfMemory { bytes: size_of::<Place<T>>() })?;
        Ok(Self { place: NonNull::from(Box::leak(place)), owns: PhantomData })
    }

    /// The value, if this is its only owner.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        // Acquire: what other owners did, they did before they went.
        if self.place().owners.load(Ordering::Acquire) != 1 {
            return None;
        }
        // SAFETY: there is no other owner, and this one, who alone could make
        // another, is borrowed uniquely.
        let place = unsafe { self.place.as_mut() };
        Some(&mut place.value)
    }

    /// The value, if this is its only owner.
    ///
    /// # Errors
    ///
    /// This owner, if there are others.
    pub(crate) fn into_inner(mut self) -> Result<T, Self> {
        if self.get_mut().is_none() {
            return Err(self);
        }
        let only = ManuallyDrop::new(self);
        // SAFETY: it came from a box, and this is the only owner, which is
        // forgotten.
        let place = unsafe { Box::from_raw(only.place.as_ptr()) };
        Ok(place.value)
    }

    #[inline]
    fn place(&self) -> &Place<T> {
        // SAFETY: it is alive until its last owner is dropped.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.place().value
    }
}

impl<T> Clone for Counted<T> {
    /// Another owner.
    ///
    /// # Panics
    ///
    /// Where there are more than half of the address space has bytes.
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: whoever makes an owner has one.
        let before = self.place().owners.fetch_add(1, Ordering::Relaxed);
        if before > MOST {
            self.place().owners.fetch_sub(1, Ordering::Relaxed);
            panic!("too many owners of one value");
        }
        Self { place: self.place, owns: PhantomData }
    }
}

impl<T> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        // Release: the last owner finds done what this one did.
        if self.place().owners.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire, by a load: of a fence ThreadSanitizer knows nothing.
            self.place().owners.load(Ordering::Acquire);
            // SAFETY: it came from a box, and there is no owner any more.
            drop(unsafe { Box::from_raw(self.place.as_ptr()) });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::sync::Arc;

    use super::*;

    #[test]
    fn the_last_owner_drops_the_value() {
        let alive = Arc::new(());
        let mut one = Counted::new((7, Arc::clone(&alive))).unwrap();
        one.get_mut().unwrap().0 += 1;
        let other = one.clone();
        assert!(one.get_mut().is_none());
        assert_eq!((one.0, other.0), (8, 8));
        drop(one);
        assert_eq!(Arc::strong_count(&alive), 2);
        let other = other.clone().into_inner().err().map(|_| other).expect("two owners");
        let (value, _alive) = other.into_inner().expect("one owner");
        assert_eq!((value, Arc::strong_count(&alive)), (8, 2));
    }

    #[test]
    fn owners_can_be_forgotten_without_end() {
        let one = Counted::new(7).unwrap();
        one.place().owners.store(MOST, Ordering::Relaxed);
        core::mem::forget(one.clone());
        let another = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| one.clone()));
        assert!(another.is_err());
        assert_eq!(one.place().owners.load(Ordering::Relaxed), MOST + 1);
        assert_eq!(alloc::format!("{one:?}"), "7");
        one.place().owners.store(1, Ordering::Relaxed);
    }

    #[test]
    fn owners_on_many_threads() {
        let alive = Arc::new(AtomicUsize::new(0));
        let one = Counted::new(Arc::clone(&alive)).unwrap();
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
