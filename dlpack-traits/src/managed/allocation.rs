//! One allocation for a value and for the head of the struct that exports it: [`Allocation`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;

use crate::describe::{Slot, SlotMut};
use crate::error::Error;
use crate::managed::head::Head;
use crate::panic::catch_second_panic;

/// The memory of an allocation.
#[repr(C)]
struct ValueAndHead<T> {
    value: T,
    /// After the value, because the head ends with room for dimensions that few tensors
    /// use.
    head: MaybeUninit<Head>,
}

/// The address of an allocation for a `T` and a head.
///
/// It accesses each of them separately, through raw pointers: a consumer uses the head
/// while other owners use the value.
///
/// Invariant: until `free`, the memory is allocated, and the spill of its slot is
/// initialized.
pub(super) struct Allocation<T>(NonNull<ValueAndHead<T>>);

impl<T> Clone for Allocation<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Allocation<T> {}

impl<T> Allocation<T> {
    const LAYOUT: Layout = Layout::new::<ValueAndHead<T>>();
    const SLOT: usize = offset_of!(ValueAndHead<T>, head).saturating_add(Head::SLOT);

    /// Allocates memory in which only the spill of the slot is initialized.
    #[inline(always)]
    pub(super) fn allocate() -> Result<Self, Error> {
        // SAFETY: the size is not zero, because a head has a size.
        let parts = unsafe { alloc(Self::LAYOUT) };
        let Some(parts) = NonNull::new(parts.cast::<ValueAndHead<T>>()) else {
            return Err(out_of_memory(Self::LAYOUT.size()));
        };
        let place = Self(parts);
        // SAFETY: 1. It is memory for a slot, and no one else has its address.
        unsafe { Slot::init(place.slot()) };
        Ok(place)
    }

    /// The address of the value.
    #[inline(always)]
    pub(super) fn value(self) -> NonNull<T> {
        // It is the first field.
        self.0.cast()
    }

    #[inline(always)]
    pub(super) fn head(self) -> NonNull<Head> {
        // SAFETY: by the invariant the field is inside of the allocation.
        unsafe { self.0.byte_add(offset_of!(ValueAndHead<T>, head)) }.cast()
    }

    #[inline(always)]
    pub(super) fn slot(self) -> *mut Slot {
        self.0.as_ptr().wrapping_byte_add(Self::SLOT).cast()
    }

    /// Converts the address to a `manager_ctx`.
    #[inline(always)]
    pub(super) fn into_ctx(self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// Returns the place from its `manager_ctx`.
    ///
    /// # Safety
    ///
    /// 1. `ctx` was returned by [`into_ctx`](Self::into_ctx) for the same `T`.
    #[inline(always)]
    pub(super) unsafe fn from_ctx(ctx: NonNull<c_void>) -> Self {
        Self(ctx.cast())
    }

    /// Frees the memory without dropping the value.
    ///
    /// # Safety
    ///
    /// 1. No copy of this is used again, and no one uses the memory.
    #[inline(always)]
    pub(super) unsafe fn free(self) {
        // SAFETY: 1. Guaranteed by our caller's 1. 2. By the invariant it is initialized.
        unsafe { SlotMut::at(self.slot()) }.clear();
        // SAFETY: `allocate` allocated the memory with this layout.
        unsafe { dealloc(self.0.as_ptr().cast(), Self::LAYOUT) }
    }

    /// Drops the value and frees the memory, even if the drop panics.
    ///
    /// # Safety
    ///
    /// 1. As for [`free`](Self::free).
    /// 2. The value is initialized.
    #[inline(always)]
    pub(super) unsafe fn release(self) {
        struct Free<T>(Allocation<T>);
        impl<T> Drop for Free<T> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: 1. Guaranteed by 1 of `release`.
                unsafe { self.0.free() }
            }
        }
        let _free = Free(self);
        // SAFETY: by 2 the value is initialized, and by 1 only this drops it.
        unsafe { self.value().drop_in_place() }
    }
}

impl<T> Allocation<T> {
    /// As [`release`](Self::release), for rare paths: one outlined function for all types. If
    /// this thread is already unwinding, a panic of the drop is caught.
    ///
    /// # Safety
    ///
    /// 1. and 2. As for [`release`](Self::release).
    #[inline(always)]
    pub(super) unsafe fn discard(self) {
        /// # Safety
        ///
        /// 1. `value` points to a `T` that nothing uses again.
        unsafe fn drop_value<T>(value: *mut u8) {
            // SAFETY: guaranteed by our caller's 1.
            unsafe { value.cast::<T>().drop_in_place() }
        }
        let value = self.0.as_ptr().cast();
        // SAFETY: 1. Guaranteed by our caller's 1 and 2, and by the invariant.
        unsafe { discard(value, drop_value::<T>, self.slot(), Self::LAYOUT) }
    }
}

/// Drops a value and frees the memory in which it is.
///
/// # Safety
///
/// 1. `value` is the start of an [`Allocation`] with this slot and this layout, and
///    nothing uses it again. `drop` may be called once for its value.
#[cold]
#[inline(never)]
unsafe fn discard(value: *mut u8, drop: unsafe fn(*mut u8), slot: *mut Slot, layout: Layout) {
    struct Free(*mut u8, *mut Slot, Layout);
    impl Drop for Free {
        fn drop(&mut self) {
            // SAFETY: 1. Guaranteed by 1 of `discard`. 2. By the invariant of `Allocation` it
            // is initialized.
            unsafe { SlotMut::at(self.1) }.clear();
            // SAFETY: `allocate` allocated the memory with this layout.
            unsafe { dealloc(self.0, self.2) }
        }
    }
    catch_second_panic(|| {
        let _free = Free(value, slot, layout);
        // SAFETY: guaranteed by our caller's 1.
        unsafe { drop(value) }
    });
}

#[cold]
fn out_of_memory(bytes: usize) -> Error {
    Error::OutOfMemory { bytes }
}
