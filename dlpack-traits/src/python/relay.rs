//! A tensor on its way to a function that may fail, and does not say whether it
//! then took the tensor: [`Relay`].

use alloc::boxed::Box;
use core::ptr::NonNull;

use crate::ffi::DLManagedTensorVersioned;
use crate::sync::{AtomicU8, Ordering};

/// A struct around a tensor, with a deleter that knows what became of the call.
///
/// The standard says that the function which makes an object of a tensor takes
/// the tensor, but not whether it does when it fails. Some libraries release it
/// then, some do not. With this in between it is released exactly once either way.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Relay {
    /// What the function is given: the tensor's own words, but for the deleter.
    managed: DLManagedTensorVersioned,
    tensor: NonNull<DLManagedTensorVersioned>,
    state: AtomicU8,
}

/// The function has not returned yet.
const CALLED: u8 = 0;
/// It succeeded: the deleter releases the tensor, and frees this.
const TAKEN: u8 = 1;
/// It failed, and the tensor was released then: a deleter does nothing.
const REVOKED: u8 = 2;
/// The deleter was called before the function returned: the tensor is released.
const DELETED: u8 = 3;

impl Relay {
    /// Gives a tensor to `call`, whose result says whether it succeeded. The
    /// tensor is released exactly once, by the callee or by this.
    ///
    /// # Safety
    ///
    /// 1. `tensor` points to a valid struct of major version 1, whose deleter
    ///    may be called once, by any thread.
    /// 2. `call` calls the deleter of what it is given at most once, and, if it
    ///    succeeds, uses it only until then.
    pub(crate) unsafe fn send<R, E>(
        tensor: NonNull<DLManagedTensorVersioned>,
        call: impl FnOnce(*mut DLManagedTensorVersioned) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: 1.
        let mut managed = unsafe { tensor.read() };
        managed.deleter = Some(delete);
        let relay = Self { managed, tensor, state: AtomicU8::new(CALLED) };
        let relay = Box::into_raw(Box::new(relay));
        // SAFETY: it was just allocated.
        let place = unsafe { &raw mut (*relay).managed };
        // SAFETY: as above. What the deleter gets is the whole of this.
        unsafe { (*place).manager_ctx = relay.cast() };
        let result = call(place);
        let next = if result.is_ok() { TAKEN } else { REVOKED };
        // SAFETY: nobody frees it before its state is one of the two.
        let before = unsafe { (*relay).state.swap(next, Ordering::AcqRel) };
        if before == DELETED {
            // SAFETY: it came from a box, and by 2 nobody uses it any more.
            drop(unsafe { Box::from_raw(relay) });
        } else if next == REVOKED {
            // Whoever failed may call the deleter later, so the relay stays.
            // SAFETY: 1. The relay's own deleter does not do it any more.
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
/// 2. This is the only call, and nobody uses the tensor any more.
unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by 1.
    let relay = unsafe { (*managed).manager_ctx }.cast::<Relay>();
    // SAFETY: by 2 nobody frees it until the state changes.
    let tensor = unsafe { (*relay).tensor };
    // SAFETY: as above. From here on `send` may free it, if it has not returned.
    let before = unsafe { (*relay).state.swap(DELETED, Ordering::AcqRel) };
    if before == REVOKED {
        return;
    }
    // SAFETY: 1. It was valid and the caller's to give (1 of `send`), who gave it to
    // whoever calls this; by 2 once.
    unsafe { release(tensor) };
    if before == TAKEN {
        // SAFETY: it came from a box, and `send` is done with it.
        drop(unsafe { Box::from_raw(relay) });
    }
}

/// Calls a deleter, if there is one.
///
/// # Safety
///
/// 1. The struct is valid, and its deleter may be called now.
unsafe fn release(tensor: NonNull<DLManagedTensorVersioned>) {
    // SAFETY: 1.
    let deleter = unsafe { (*tensor.as_ptr()).deleter };
    if let Some(deleter) = deleter {
        // SAFETY: 1.
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

    struct Counted(Vec<u8>, #[expect(dead_code, reason = "it is dropped")] Arc<()>);

    impl DLPackExport for Counted {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[3]).data(self.0.data())
        }
    }

    fn send(
        call: impl FnOnce(*mut DLManagedTensorVersioned) -> Result<*mut DLManagedTensorVersioned, ()>,
    ) -> (Result<*mut DLManagedTensorVersioned, ()>, Arc<()>) {
        let alive = Arc::new(());
        let tensor = Counted(Vec::from([1, 2, 3]), Arc::clone(&alive)).into_dlpack().unwrap();
        let tensor = NonNull::new(tensor.into_raw()).unwrap();
        // SAFETY: 1. It was just exported. 2. The tests keep it.
        (unsafe { Relay::send(tensor, call) }, alive)
    }

    fn run_deleter(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: each test does so once.
        let deleter = unsafe { (*managed).deleter }.unwrap();
        // SAFETY: as above.
        unsafe { deleter(managed) }
    }

    #[test]
    fn taken_and_released_later() {
        let (result, alive) = send(Ok);
        assert_eq!(Arc::strong_count(&alive), 2);
        let managed = result.unwrap();
        // SAFETY: it was not released yet.
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
        // What a callee may still hold is leaked, as it must be; this one is done.
        // SAFETY: the relay is still there.
        let relay = unsafe { (*managed).manager_ctx }.cast::<Relay>();
        // SAFETY: it came from a box, and nobody uses it any more.
        drop(unsafe { Box::from_raw(relay) });
    }
}
