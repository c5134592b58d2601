//! A reference-counted value whose allocation may fail: [`TryArc`].

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Deref;
use core::ptr::{self, NonNull};

use crate::error::Error;
use crate::panic::catch_panic;
use crate::refcount::RefCount;

/// An `Arc` without weak references, whose constructor returns an error if there is no
/// memory, where `Arc` aborts the process. A list of numbers, which is empty for most values, is
/// in the same allocation.
pub(crate) struct TryArc<T> {
    place: NonNull<CountedValue<Counts, T>>,
    owns: PhantomData<CountedValue<Counts, T>>,
}

/// Memory for a value and its list, which are not initialized.
///
/// Invariant: the counts have been written.
///
/// The numbers are written to their final place, and the value after them: a value that is
/// moved after it was written is copied by 16-byte loads, which wait for the 8-byte stores
/// before them (store forwarding fails).
pub(crate) struct UninitTryArc<T> {
    place: Box<Uninit<T>>,
}

/// The allocation before the value and the list are initialized.
type Uninit<T> = Inner<CountedValue<MaybeUninit<Counts>, MaybeUninit<T>>, [MaybeUninit<i64>]>;

#[repr(C)]
struct Inner<H, L: ?Sized> {
    head: H,
    list: L,
}

#[repr(C)]
struct CountedValue<C, T> {
    counts: C,
    value: T,
}

struct Counts {
    owners: RefCount,
    /// The length of the list.
    len: usize,
}

// SAFETY: it returns `&T` on any thread, and the thread of the last owner drops the `T`.
unsafe impl<T: Send + Sync> Send for TryArc<T> {}
// SAFETY: as above; a thread with a reference to one can clone it.
unsafe impl<T: Send + Sync> Sync for TryArc<T> {}

impl<T> UninitTryArc<T> {
    /// Allocates memory for a value and a list of `len` numbers, and writes the counts. `None` if the
    /// allocation fails.
    #[inline(always)]
    pub(crate) fn new(len: usize) -> Option<Self> {
        let layout = Self::layout(len)?;
        // SAFETY: its size is not zero, because of the count.
        let place = NonNull::new(unsafe { alloc(layout) })?;
        let place = ptr::slice_from_raw_parts_mut(place.as_ptr(), len) as *mut Uninit<T>;
        // SAFETY: the memory was allocated with the layout of an `Uninit` whose list has this length,
        // and all of it may be uninitialized.
        let mut place = unsafe { Box::from_raw(place) };
        // With the value, they would be two of 20 stores at once (measured: 0.4 ns per import).
        place.head.counts.write(Counts { owners: RefCount::one(), len });
        Some(Self { place })
    }

    /// The error of a failed allocation.
    #[cold]
    pub(crate) fn out_of_memory(len: usize) -> Error {
        Error::OutOfMemory { bytes: Self::layout(len).map_or(usize::MAX, |it| it.size()) }
    }

    /// The layout of an [`Inner`] whose list has this length, by the rules of `repr(C)`.
    #[inline(always)]
    fn layout(len: usize) -> Option<Layout> {
        // Without a list there is all padding but that after the list.
        let head = Layout::new::<Inner<CountedValue<Counts, T>, [i64; 0]>>();
        let size = head.size().checked_add(len.checked_mul(size_of::<i64>())?)?;
        let layout = Layout::from_size_align(size, head.align()).ok()?;
        // A constant (measured: 3 instructions per import).
        let is_padded = head.align() > align_of::<i64>();
        Some(if is_padded { layout.pad_to_align() } else { layout })
    }

    /// The length of the list.
    pub(crate) fn len(&self) -> usize {
        self.place.list.len()
    }

    /// The list.
    #[inline(always)]
    pub(crate) fn list(&mut self) -> &mut [MaybeUninit<i64>] {
        &mut self.place.list
    }

    /// The list, filled with zeros.
    pub(crate) fn zeroed_list(&mut self) -> &mut [i64] {
        let list = self.list();
        list.fill(MaybeUninit::new(0));
        let list = ptr::from_mut(list) as *mut [i64];
        // SAFETY: all numbers were written just now, and `self` is borrowed for as long as the result.
        unsafe { &mut *list }
    }

    /// Moves the value to its final place, and returns its first owner.
    ///
    /// # Safety
    ///
    /// 1. All numbers of the list have been written.
    #[inline(always)]
    pub(crate) unsafe fn finish(mut self, value: T) -> TryArc<T> {
        self.place.head.value.write(value);
        TryArc { place: NonNull::from(Box::leak(self.place)).cast(), owns: PhantomData }
    }
}

impl<T> TryArc<T> {
    /// Creates the first owner of a value without a list. On an error the value is dropped.
    #[inline]
    pub(crate) fn new(value: T) -> Result<Self, Error> {
        let place = UninitTryArc::new(0).ok_or_else(|| UninitTryArc::<T>::out_of_memory(0))?;
        // SAFETY: 1. There are none.
        Ok(unsafe { place.finish(value) })
    }

    /// Returns the value, if this is its only owner and it is not lent; otherwise this owner.
    pub(crate) fn into_inner(self) -> Result<T, Self> {
        if !self.head().counts.owners.is_one() {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the value is initialized, and no other owner uses it. It is not used again.
        let value = unsafe { ptr::from_ref(&**this).read() };
        // SAFETY: the pointer came from a box, and no owner is left. The box does not drop the value.
        drop(unsafe { Box::from_raw(this.inner() as *mut Uninit<T>) });
        Ok(value)
    }

    /// Lends the value; `None` while it is lent to another consumer.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Option<Lent<T>> {
        // Constructed only after a successful `lend`, because its drop ends the lend.
        let is_lent = self.head().counts.owners.lend();
        is_lent.then(|| Lent(ManuallyDrop::new(Self { place: self.place, owns: PhantomData })))
    }

    /// Returns the value, if this is its only owner and it is not lent.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.head().counts.owners.is_one() {
            return None;
        }
        // SAFETY: there is no other owner, and this one, which alone could be cloned, is
        // borrowed uniquely.
        let head = unsafe { self.place.as_mut() };
        Some(&mut head.value)
    }

    /// The list.
    #[inline]
    pub(crate) fn list(&self) -> &[i64] {
        // SAFETY: the allocation is alive until its last owner is dropped, and `finish`
        // was called with a complete list.
        unsafe { &(*self.inner()).list }
    }

    /// The counts and the value.
    #[inline]
    fn head(&self) -> &CountedValue<Counts, T> {
        // SAFETY: the allocation is alive until its last owner is dropped.
        unsafe { self.place.as_ref() }
    }

    /// The whole allocation.
    #[inline]
    fn inner(&self) -> *mut Inner<CountedValue<Counts, T>, [i64]> {
        ptr::slice_from_raw_parts_mut(self.place.as_ptr(), self.head().counts.len) as *mut _
    }
}

impl<T> Deref for TryArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.head().value
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
        assert!(self.head().counts.owners.add(), "too many owners of one value");
        Self { place: self.place, owns: PhantomData }
    }
}

impl<T> Drop for TryArc<T> {
    #[inline]
    fn drop(&mut self) {
        let owners = &self.head().counts.owners;
        // An only owner is not subtracted: no other thread can add one, because this one is
        // mutably borrowed.
        if owners.is_one() || owners.remove() {
            // SAFETY: the pointer came from a box, and no owner is left.
            drop(unsafe { Box::from_raw(self.inner()) });
        }
    }
}

/// The one owner of a value that is not counted as a [`TryArc`]: a consumer, to whom it is lent.
/// Dropping it ends the lend.
pub(crate) struct Lent<T>(ManuallyDrop<TryArc<T>>);

impl<T> Lent<T> {
    /// Converts this owner to a pointer to the allocation.
    #[inline(always)]
    pub(crate) fn into_ctx(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).0.place.cast()
    }

    /// Returns the owner from its pointer.
    ///
    /// # Safety
    ///
    /// 1. `ctx` was returned by [`into_ctx`](Self::into_ctx) for the same `T`, and this is called
    ///    once for it.
    #[inline(always)]
    pub(crate) unsafe fn from_ctx(ctx: NonNull<c_void>) -> Self {
        Self(ManuallyDrop::new(TryArc { place: ctx.cast(), owns: PhantomData }))
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Lent<T> {
    #[inline]
    fn drop(&mut self) {
        /// Frees an allocation in a call from C, where no panic may unwind.
        #[cold]
        fn free<V>(last: V) {
            // It is freed either way, and a deleter cannot report the panic.
            let _ = catch_panic(move || drop(last));
        }
        if self.0.head().counts.owners.give_back() {
            // SAFETY: the pointer came from a box, and no owner is left.
            free(unsafe { Box::from_raw(self.0.inner()) });
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
        let mut one = TryArc::new((7, Arc::clone(&alive))).unwrap();
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
    fn a_value_without_its_last_owner_has_its_list() {
        let alive = Arc::new(());
        let mut place = UninitTryArc::new(3).unwrap();
        for (number, to) in (7..).zip(place.list()) {
            to.write(number);
        }
        // SAFETY: 1. All three were written.
        let one = unsafe { place.finish(Arc::clone(&alive)) };
        let other = one.clone();
        drop(one);
        assert_eq!((other.list(), Arc::strong_count(&alive)), (&[7, 8, 9][..], 2));
        drop(other);
        assert_eq!(Arc::strong_count(&alive), 1);
        let mut place = UninitTryArc::<Arc<()>>::new(64).unwrap();
        assert_eq!(place.zeroed_list(), [0; 64]);
    }

    /// The layout of the allocation is that of the value with its list, for any alignment.
    #[test]
    fn values_of_any_alignment() {
        #[repr(align(32))]
        struct Aligned(u8);

        fn check<T>(value: impl Fn(u8) -> T, number: impl Fn(&T) -> u8) {
            for len in [0_u8, 1, 2, 3, 5] {
                let mut place = UninitTryArc::new(len.into()).unwrap();
                place.zeroed_list();
                assert_eq!(
                    UninitTryArc::<T>::layout(len.into()),
                    Some(Layout::for_value(&*place.place))
                );
                // SAFETY: 1. Zeros were written.
                let one = unsafe { place.finish(value(len)) };
                assert_eq!((number(&one), one.list()), (len, &[0; 5][..len.into()]));
                assert!(core::ptr::from_ref(&*one).is_aligned());
            }
        }
        check(|number| number, |&number| number);
        check(u64::from, |&number| u8::try_from(number).unwrap());
        check(Aligned, |value| value.0);
        check(|number| [number; 9], |value| value[8]);
    }

    #[test]
    fn owners_can_be_forgotten_without_end() {
        let one = TryArc::new(7).unwrap();
        one.head().counts.owners.set(isize::MAX.unsigned_abs());
        core::mem::forget(one.clone());
        let another = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| one.clone()));
        assert!(another.is_err());
        assert_eq!(alloc::format!("{one:?}"), "7");
        one.head().counts.owners.set(2);
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
