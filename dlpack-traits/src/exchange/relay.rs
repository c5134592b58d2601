//! Passes a tensor to a function that may fail without reporting whether it took the
//! tensor: [`Relay`].
//!
//! PyTorch does not release the tensor if it fails to create the object; other libraries
//! do. After a failure the relay, about a hundred bytes, is leaked, because the callee may
//! still call its deleter.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::atomic::{AtomicU8, Ordering};
use crate::ffi::DLManagedTensorVersioned;

/// A struct around a tensor, whose deleter records whether it was called.
///
/// The standard says that the function which creates an object from a tensor takes the
/// tensor, but not whether it also does when it fails. Some libraries release the tensor
/// then, some do not. With a relay the tensor is released exactly once in both cases.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Relay {
    /// The struct that the function receives: a copy of the tensor's fields, except the
    /// deleter and its context.
    ///
    /// In a cell, because the callee may refer to it by a `&mut` while its deleter reads
    /// the other fields.
    managed: UnsafeCell<DLManagedTensorVersioned>,
    tensor: NonNull<DLManagedTensorVersioned>,
    state: AtomicU8,
}

/// The function has not returned yet.
const CALLED: u8 = 0;
/// It succeeded: the deleter releases the tensor, and frees the relay.
const TAKEN: u8 = 1;
/// It failed, and `send` released the tensor: the deleter does nothing.
const REVOKED: u8 = 2;
/// The deleter was called before the function returned: the tensor is released.
const DELETED: u8 = 3;

impl Relay {
    /// Passes a tensor to `call`, whose result says whether it succeeded. The tensor is
    /// released exactly once, by the callee or by this function.
    ///
    /// # Safety
    ///
    /// 1. `tensor` points to a valid struct of major version 1, whose deleter may be
    ///    called once, by any thread.
    /// 2. `call` calls the deleter of its argument at most once, and, if it succeeds,
    ///    uses it only until then.
    pub(crate) unsafe fn send<R, E>(
        tensor: NonNull<DLManagedTensorVersioned>,
        call: impl FnOnce(*mut DLManagedTensorVersioned) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: by 1 the struct is valid.
        let mut managed = unsafe { tensor.read() };
        managed.deleter = Some(delete);
        let managed = UnsafeCell::new(managed);
        let relay = Self { managed, tensor, state: AtomicU8::new(CALLED) };
        let relay = Box::into_raw(Box::new(relay));
        // It is the first field.
        let place = relay.cast::<DLManagedTensorVersioned>();
        // SAFETY: the relay was just allocated. The context is a pointer to all of it.
        unsafe { (*place).manager_ctx = relay.cast() };
        let result = call(place);
        let next = if result.is_ok() { TAKEN } else { REVOKED };
        // SAFETY: the relay is not freed before its state is `TAKEN` or `REVOKED`.
        let before = unsafe { (*relay).state.swap(next, Ordering::AcqRel) };
        if before == DELETED {
            // SAFETY: the relay came from a box, and by 2 nothing uses it any more.
            drop(unsafe { Box::from_raw(relay) });
        } else if next == REVOKED {
            // The callee that failed may call the deleter later, so the relay is not
            // freed.
            // SAFETY: 1. By 1 the struct is valid. The relay's deleter does not release
            // it any more.
            unsafe { release(tensor) };
        }
        result
    }
}

/// The deleter of a relay.
///
/// # Safety
///
/// 1. `managed` points to the struct of a relay, or to a copy of it.
/// 2. This is the only call, and nothing uses the tensor any more.
unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by 1 the context is the relay.
    let relay = unsafe { (*managed).manager_ctx }.cast::<Relay>();
    // SAFETY: by 2 the relay is not freed before the state changes.
    let &Relay { tensor, ref state, .. } = unsafe { &*relay };
    // From here on `send` may free it, if it has not returned.
    let before = state.swap(DELETED, Ordering::AcqRel);
    if before == REVOKED {
        return;
    }
    // SAFETY: 1. The struct was valid and the caller's to give away (1 of `send`), and
    // `send` passed it on to the caller of this deleter, who by 2 calls it once.
    unsafe { release(tensor) };
    if before == TAKEN {
        // SAFETY: the relay came from a box, and `send` does not use it after the state
        // is `TAKEN`.
        drop(unsafe { Box::from_raw(relay) });
    }
}

/// Calls the deleter of a struct, if there is one.
///
/// # Safety
///
/// 1. The struct is valid, and its deleter may be called now.
unsafe fn release(tensor: NonNull<DLManagedTensorVersioned>) {
    // SAFETY: by 1 the struct is valid.
    let deleter = unsafe { (*tensor.as_ptr()).deleter };
    if let Some(deleter) = deleter {
        // SAFETY: by 1 the deleter may be called now.
        unsafe { deleter(tensor.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use super::*;
    use crate::describe::{Describe, Description};
    use crate::error::Error;
    use crate::export::DLPackExport;
    use crate::storage::Storage;

    struct TryArc(Vec<u8>, #[expect(dead_code, reason = "it is dropped")] Arc<()>);

    impl DLPackExport for TryArc {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[3]).data(self.0.data())
        }
    }

    fn send(
        call: impl FnOnce(*mut DLManagedTensorVersioned) -> Result<*mut DLManagedTensorVersioned, ()>,
    ) -> (Result<*mut DLManagedTensorVersioned, ()>, Arc<()>) {
        let alive = Arc::new(());
        let tensor = TryArc(Vec::from([1, 2, 3]), Arc::clone(&alive)).into_dlpack().unwrap();
        let tensor = NonNull::new(tensor.into_raw()).unwrap();
        // SAFETY: 1. The tensor was just exported. 2. The tests call the deleter at most
        // once.
        (unsafe { Relay::send(tensor, call) }, alive)
    }

    fn run_deleter(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: each test calls this once.
        let deleter = unsafe { (*managed).deleter }.unwrap();
        // SAFETY: as above.
        unsafe { deleter(managed) }
    }

    #[test]
    fn taken_and_released_later() {
        let (result, alive) = send(Ok);
        assert_eq!(Arc::strong_count(&alive), 2);
        let managed = result.unwrap();
        // SAFETY: the tensor was not released yet.
        let data = unsafe { (*managed).dl_tensor.data };
        // SAFETY: as above.
        let first = unsafe { data.cast::<u8>().read() };
        assert_eq!(first, 1);
        run_deleter(managed);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn taken_and_released_at_once() {
        let (_, alive) = send(|managed| {
            run_deleter(managed);
            Ok(managed)
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn failed_and_released() {
        let (_, alive) = send(|managed| {
            run_deleter(managed);
            Err(())
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn failed_and_not_released_or_later() {
        let mut kept = None;
        let (_, alive) = send(|managed| {
            kept = Some(managed);
            Err(())
        });
        assert_eq!(Arc::strong_count(&alive), 1);
        let managed = kept.unwrap();
        run_deleter(managed);
        assert_eq!(Arc::strong_count(&alive), 1);
        // `send` leaks the relay of a failed call, because the callee may still use it;
        // here the callee is done.
        // SAFETY: the relay was not freed.
        let relay = unsafe { (*managed).manager_ctx }.cast::<Relay>();
        // SAFETY: the relay came from a box, and nothing uses it any more.
        drop(unsafe { Box::from_raw(relay) });
    }
}
