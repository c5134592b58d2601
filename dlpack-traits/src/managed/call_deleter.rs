//! The obligation to call a deleter: [`Release`].

#[cfg(feature = "pyo3")]
use core::ffi::c_void;
use core::ptr::NonNull;

use crate::ffi::{DLManagedTensor, DLManagedTensorVersioned};

/// Calls the deleter of a C struct when it is dropped, on any thread: once, and with the producer's
/// pointer, never with a pointer to a copy. Or it releases the owner of a tensor that has no
/// struct.
#[derive(Debug)]
pub struct Release {
    pub(super) call: Call,
}

/// A [`Release`] that is dropped by a guard, if there is one, which can set up the environment
/// that the deleter needs.
///
/// It is a separate type, because a guard is called through a function pointer with the
/// address of the call, so the value must be in memory. A `Release` without a guard stays
/// in registers.
#[derive(Debug)]
pub(crate) struct GuardedRelease {
    release: Release,
    guard: Option<Guard>,
}

/// Receives a release, whose drop calls the deleter, now or on another thread. Any thread may use
/// it.
pub(crate) type Guard = fn(Release);

/// The function that releases a tensor.
pub(super) type Deleter<A> = unsafe extern "C" fn(*mut A);

/// The deleter and its argument. A NULL deleter is not called.
///
/// All functions are `extern "C"`: no panic leaves them, and the drop of a [`Release`] needs no code
/// for one (measured, with [`GuardedRelease::guarded`]: 1 ns per import).
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Versioned(NonNull<DLManagedTensorVersioned>, Option<Deleter<DLManagedTensorVersioned>>),
    Legacy(NonNull<DLManagedTensor>, Option<Deleter<DLManagedTensor>>),
    /// The owner of a tensor without a struct, and the function that releases it.
    #[cfg(feature = "pyo3")]
    Owner(NonNull<c_void>, unsafe extern "C" fn(NonNull<c_void>)),
    /// No struct, or one whose deleter another owner calls.
    Nothing,
}

// SAFETY: by 1 of its constructors any thread may call the deleter.
unsafe impl Send for Release {}
// SAFETY: a shared `Release` only returns the address of the struct.
unsafe impl Sync for Release {}

impl Release {
    /// # Safety
    ///
    /// 1. The deleter of the call, if there is one, may be called once with its argument,
    ///    by any thread, when this is dropped.
    #[inline]
    pub(super) unsafe fn new(call: Call) -> Self {
        Self { call }
    }

    /// Releases the owner of a tensor that has no struct.
    ///
    /// # Safety
    ///
    /// 1. `release` may be called once with `owner`, by any thread, when this is dropped.
    #[cfg(feature = "pyo3")]
    #[inline(always)]
    pub(crate) const unsafe fn of_owner(
        owner: NonNull<c_void>,
        release: unsafe extern "C" fn(NonNull<c_void>),
    ) -> Self {
        Self { call: Call::Owner(owner, release) }
    }

    /// Whether it releases the owner of a tensor that has no struct.
    #[cfg(feature = "pyo3")]
    pub(crate) const fn is_of_owner(&self) -> bool {
        matches!(self.call, Call::Owner(..))
    }

    /// Calls nothing when it is dropped.
    pub(crate) const fn nothing() -> Self {
        Self { call: Call::Nothing }
    }

    /// Calls the deleter, unless it has already been called.
    #[inline]
    fn call(&mut self) {
        match core::mem::replace(&mut self.call, Call::Nothing) {
            Call::Versioned(managed, Some(deleter)) => {
                // SAFETY: guaranteed by 1 of `new`; the call is not made again.
                unsafe { deleter(managed.as_ptr()) }
            }
            Call::Legacy(managed, Some(deleter)) => {
                // SAFETY: as above.
                unsafe { deleter(managed.as_ptr()) }
            }
            #[cfg(feature = "pyo3")]
            Call::Owner(owner, release) => {
                // SAFETY: guaranteed by 1 of `of_owner`; the call is not made again.
                unsafe { release(owner) }
            }
            Call::Versioned(_, None) | Call::Legacy(_, None) | Call::Nothing => {}
        }
    }
}

impl Drop for Release {
    #[inline]
    fn drop(&mut self) {
        self.call();
    }
}

impl GuardedRelease {
    /// Combines a release with a guard, if there is one, which makes the call.
    #[inline(always)]
    pub(crate) const fn new(release: Release, guard: Option<Guard>) -> Self {
        Self { release, guard }
    }

    /// Leaves the call to a guard. A panic of the guard ends the process, as one of a deleter does.
    #[inline(never)]
    #[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
    extern "C" fn guarded(&mut self, guard: Guard) {
        guard(core::mem::replace(&mut self.release, Release::nothing()));
    }

    /// The release without its guard.
    pub(crate) fn release(&self) -> &Release {
        &self.release
    }

    /// Leaves the call to another owner of the struct.
    #[inline]
    pub(crate) fn forget(&mut self) {
        (self.release.call, self.guard) = (Call::Nothing, None);
    }
}

impl From<Release> for GuardedRelease {
    #[inline]
    fn from(release: Release) -> Self {
        Self::new(release, None)
    }
}

impl Drop for GuardedRelease {
    #[inline]
    fn drop(&mut self) {
        // Without a guard the drop of the field makes the call.
        if let Some(guard) = self.guard {
            self.guarded(guard);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::cell::Cell;
    use core::ffi::c_void;
    use core::ptr;

    use super::*;
    use crate::ffi::{DLDataType, DLDevice, DLTensor, kDLCPU, kDLFloat};

    std::thread_local! {
        static CALLS: Cell<[u32; 2]> = const { Cell::new([0; 2]) };
    }

    unsafe extern "C" fn deleter(_: *mut DLManagedTensor) {
        let [deleted, guarded] = CALLS.get();
        CALLS.set([deleted + 1, guarded]);
    }

    fn guard(release: Release) {
        let [deleted, guarded] = CALLS.get();
        CALLS.set([deleted, guarded + 1]);
        drop(release);
    }

    #[test]
    fn the_guard_makes_the_call() {
        let dl_tensor = DLTensor {
            data: ptr::null_mut(),
            device: DLDevice { device_type: kDLCPU, device_id: 0 },
            ndim: 0,
            dtype: DLDataType { code: kDLFloat, bits: 32, lanes: 1 },
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let manager_ctx = ptr::null_mut::<c_void>();
        let mut managed = DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(deleter) };
        for (guarded, expected) in [(false, [1, 0]), (true, [1, 1])] {
            CALLS.set([0; 2]);
            // SAFETY: 1. The deleter frees nothing.
            let release =
                unsafe { Release::new(Call::Legacy(NonNull::from(&mut managed), Some(deleter))) };
            drop(GuardedRelease::new(release, guarded.then_some(guard as Guard)));
            assert_eq!(CALLS.get(), expected);
        }
    }
}
