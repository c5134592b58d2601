//! Allocates boxes with an error in place of an abort: [`try_place`], [`fill`].

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// `Box::new_uninit` that reports a failed allocation.
#[inline(always)]
pub(crate) fn try_place<S>() -> Option<Box<MaybeUninit<S>>> {
    if size_of::<S>() == 0 {
        return Some(Box::new_uninit());
    }
    // SAFETY: its size is not zero.
    let place = NonNull::new(unsafe { alloc(Layout::new::<S>()) })?;
    // SAFETY: the memory was allocated with the layout of an `S`, and may be uninitialized.
    Some(unsafe { Box::from_raw(place.cast::<MaybeUninit<S>>().as_ptr()) })
}

/// `Box::write`, which the oldest supported compiler does not have.
#[expect(clippy::unnecessary_box_returns, reason = "the value is already in the box")]
#[inline(always)]
pub(crate) fn fill<S>(mut place: Box<MaybeUninit<S>>, value: S) -> Box<S> {
    place.write(value);
    // SAFETY: it was initialized just now.
    unsafe { place.assume_init() }
}
