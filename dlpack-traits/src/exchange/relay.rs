//! Passes a tensor to a function that may fail without reporting whether it took the
//! tensor: [`Relay`].
//!
//! PyTorch does not release the tensor if it fails to create the object; other libraries
//! do. After a failure the relay, about a hundred bytes, is freed by its deleter, which the
//! callee may still call, and otherwise lost, unless the caller knows that the callee does not.

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
/// It failed, and `send` released the tensor: the deleter only frees the relay.
const REVOKED: u8 = 2;
/// The deleter was called before the function returned: the tensor is released.
const DELETED: u8 = 3;

/// The result of [`Relay::send`].
pub(crate) struct Sent<R> {
    pub(crate) result: R,
    /// Whether the relay is lost, because the callee failed and did not call its deleter.
    pub(crate) is_lost: bool,
}

impl Relay {
    /// Passes a tensor to `call`, whose result says whether it succeeded. The tensor is
    /// released exactly once, by the callee or by this function.
    ///
    /// A callee that fails may have changed the struct, so that its deleter and context are those
    /// of the callee, as `RollbackImport` does: the tensor then has a second owner, and that
    /// deleter is called.
    ///
    /// # Safety
    ///
    /// 1. `tensor` points to a valid struct of major version 1, whose deleter may be
    ///    called once, by any thread.
    /// 2. `call` calls the deleter of its argument at most once, and, if it succeeds,
    ///    uses it only until then.
    /// 3. If `forgets`, a `call` that fails does not use its argument later.
    pub(crate) unsafe fn send<R, E>(
        tensor: NonNull<DLManagedTensorVersioned>,
        forgets: bool,
        call: impl FnOnce(*mut DLManagedTensorVersioned) -> Result<R, E>,
    ) -> Sent<Result<R, E>> {
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
        // SAFETY: the relay is not freed before its state is `TAKEN` or `REVOKED`.
        let is_changed = result.is_err() && unsafe { (*place).manager_ctx } != relay.cast();
        let next = if result.is_ok() || is_changed { TAKEN } else { REVOKED };
        // SAFETY: the relay is not freed before its state is `TAKEN` or `REVOKED`.
        let before = unsafe { (*relay).state.swap(next, Ordering::AcqRel) };
        let is_revoked = before != DELETED && next == REVOKED;
        if before == DELETED || (forgets && is_revoked) {
            // SAFETY: the relay came from a box, and by 2 and 3 nothing uses it any more.
            drop(unsafe { Box::from_raw(relay) });
        }
        let left = match next {
            _ if before == DELETED => None,
            REVOKED => Some(tensor),
            _ if is_changed => NonNull::new(place),
            _ => None,
        };
        if let Some(left) = left {
            // SAFETY: 1. By 1 the struct `tensor` is valid, and the relay's deleter does not
            // release it any more. The relay's struct is valid too: a callee that changed it left
            // a deleter for its caller, and calls that of the relay when it has finished.
            unsafe { release(left) };
        }
        // The callee that failed may call the deleter later, so the relay is not freed.
        Sent { result, is_lost: is_revoked && !forgets }
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
    if before != REVOKED {
        // SAFETY: 1. The struct was valid and the caller's to give away (1 of `send`), and
        // `send` passed it on to the caller of this deleter, who by 2 calls it once.
        unsafe { release(tensor) };
    }
    if before != CALLED {
        // SAFETY: the relay came from a box, and `send` does not use it after the state
        // is `TAKEN` or `REVOKED`.
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
    use core::ptr;
    use core::sync::atomic::AtomicPtr;

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
    ) -> (Sent<Result<*mut DLManagedTensorVersioned, ()>>, Arc<()>) {
        let alive = Arc::new(());
        let tensor = TryArc(Vec::from([1, 2, 3]), Arc::clone(&alive)).into_dlpack().unwrap();
        let tensor = NonNull::new(tensor.into_raw()).unwrap();
        // SAFETY: 1. The tensor was just exported. 2. The tests call the deleter at most
        // once. 3. Does not apply.
        (unsafe { Relay::send(tensor, false, call) }, alive)
    }

    fn run_deleter(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: each test calls this once.
        let deleter = unsafe { (*managed).deleter }.unwrap();
        // SAFETY: as above.
        unsafe { deleter(managed) }
    }

    #[test]
    fn taken_and_released_later() {
        let (sent, alive) = send(Ok);
        assert_eq!(Arc::strong_count(&alive), 2);
        assert!(!sent.is_lost);
        let managed = sent.result.unwrap();
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
        let (sent, alive) = send(|managed| {
            run_deleter(managed);
            Ok(managed)
        });
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(!sent.is_lost);
    }

    #[test]
    fn failed_and_released() {
        let (sent, alive) = send(|managed| {
            run_deleter(managed);
            Err(())
        });
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(!sent.is_lost);
    }

    #[test]
    fn failed_and_not_released_or_later() {
        let mut kept = None;
        let (sent, alive) = send(|managed| {
            kept = Some(managed);
            Err(())
        });
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(sent.is_lost, "the callee may call the deleter later");
        // It frees the relay.
        run_deleter(kept.unwrap());
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    /// The struct of a callee that keeps the tensor after its failure.
    static KEPT: AtomicPtr<DLManagedTensorVersioned> = AtomicPtr::new(ptr::null_mut());

    unsafe extern "C" fn keep(managed: *mut DLManagedTensorVersioned) {
        KEPT.store(managed, Ordering::Relaxed);
    }

    #[test]
    fn failed_and_shared() {
        let mut before = None;
        let (sent, alive) = send(|managed| {
            // SAFETY: the struct belongs to this function during the call.
            let initial = unsafe { managed.read() };
            before = Some(initial);
            let manager_ctx = ptr::null_mut();
            let kept = DLManagedTensorVersioned { manager_ctx, deleter: Some(keep), ..initial };
            // SAFETY: as above.
            unsafe { managed.write(kept) };
            Err(())
        });
        assert_eq!(Arc::strong_count(&alive), 2, "the callee uses it");
        assert!(!sent.is_lost);
        let managed = KEPT.load(Ordering::Relaxed);
        // SAFETY: the deleter of the relay was not called.
        unsafe { managed.write(before.unwrap()) };
        run_deleter(managed);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
