//! Imports a tensor so that it can be returned to its owner on failure: [`RollbackImport`].

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::mem::{ManuallyDrop, forget};
use core::ptr::NonNull;

use crate::atomic::{AtomicU8, Ordering};
use crate::error::Error;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::ImportedTensor;
use crate::managed::{Abi, Guard, Guarded, Release};
use crate::version::Version;

/// The second owner of an imported tensor, beside an [`ImportedTensor`]: as long as it exists,
/// dropping the `ImportedTensor` does not release the tensor.
///
/// Code that builds a value from an `ImportedTensor` may drop it at any moment, also before it
/// returns an error, after which the caller must own the tensor again. The `ImportedTensor` is
/// therefore made from a copy of the struct, with a deleter of this module.
pub(super) struct RollbackImport(NonNull<Shared>);

/// The state that [`RollbackImport`] and the `ImportedTensor` share. The last of them to finish frees it.
#[repr(C)]
struct Shared {
    /// The first field, so that a pointer to it is a pointer to the whole struct.
    managed: DLManagedTensorVersioned,
    /// The caller's struct, and a copy of its initial contents.
    original: NonNull<DLManagedTensorVersioned>,
    as_it_came: DLManagedTensorVersioned,
    /// Releases the tensor. It is not dropped if the tensor is returned to the caller.
    release: ManuallyDrop<Guarded>,
    state: AtomicU8,
}

/// Both owners exist.
const OPEN: u8 = 0;
/// The `ImportedTensor` was dropped.
const DROPPED: u8 = 1;
/// The [`RollbackImport`] is gone, and the tensor belongs to the `ImportedTensor`.
const KEPT: u8 = 2;
/// The import failed, but the `ImportedTensor` was stored elsewhere: it and the caller both own
/// the tensor, and the last of them to finish releases it.
const RETURNED: u8 = 3;
/// The caller has called the deleter of a tensor that was returned.
const DELETED: u8 = 4;

impl RollbackImport {
    /// Imports a tensor, so that it can still be returned. `guard`, if there is one,
    /// calls the deleter. After an error, and after the [`RollbackImport`] was dropped, the caller
    /// owns the tensor again.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::from_raw`].
    ///
    /// # Safety
    ///
    /// 1. As for [`ImportedTensor::from_raw`].
    pub(super) unsafe fn new(
        tensor: *mut DLManagedTensorVersioned,
        guard: Option<Guard>,
    ) -> Result<(Self, ImportedTensor), Error> {
        let original = NonNull::new(tensor).ok_or(Error::NullTensor)?;
        // SAFETY: 1 (`tensor` is valid): guaranteed by our caller's 1 (1 of `from_raw`).
        let version = unsafe { version_of(original) };
        if let Some(found) = version.filter(|version| !version.is_readable()) {
            return Err(Error::VersionUnsupported { found });
        }
        let layout = Layout::new::<Shared>();
        // SAFETY: the size of the struct is not zero.
        let shared = unsafe { alloc(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is that of a `Shared`")]
        let shared = shared.cast::<Shared>();
        let Some(shared) = NonNull::new(shared) else {
            return Err(Error::OutOfMemory { bytes: layout.size() });
        };
        // SAFETY: by our caller's 1 (1 of `from_raw`) the struct is complete, since its
        // version is readable.
        let as_it_came = unsafe { original.read() };
        let managed = DLManagedTensorVersioned {
            manager_ctx: shared.as_ptr().cast(),
            deleter: Some(imported_dropped),
            ..as_it_came
        };
        // SAFETY: 1 and 2: guaranteed by our caller's 1 (1 and 2 of `from_raw`). The
        // result is dropped once, if the tensor is not returned to the caller.
        let release = unsafe { release_of(original) };
        let release = ManuallyDrop::new(Guarded::new(release, guard));
        let state = AtomicU8::new(OPEN);
        // SAFETY: the memory was allocated with this layout.
        unsafe { shared.write(Shared { managed, original, as_it_came, release, state }) };
        let held = Self(shared);
        let copy = shared.as_ptr().cast::<DLManagedTensorVersioned>();
        // SAFETY: 1 to 3. The copy is a struct of this module, and its deleter may be
        // called once, by any thread. The arrays are those of the original, and so are 4
        // and 5 until the deleter of this module calls the original one.
        let imported = unsafe { ImportedTensor::from_raw(copy) }?;
        Ok((held, imported))
    }

    /// Leaves the tensor to the `ImportedTensor`.
    pub(super) fn keep(self) {
        if self.leave(KEPT) == DROPPED {
            // SAFETY: 1. The `ImportedTensor` was dropped.
            drop(unsafe { free(self.0) });
        }
        forget(self);
    }

    /// Sets the final state of this owner, and returns what the other owner did before.
    fn leave(&self, state: u8) -> u8 {
        self.shared().state.swap(state, Ordering::AcqRel)
    }

    /// Returns the shared state.
    fn shared(&self) -> &Shared {
        // SAFETY: the last owner to finish frees it, and this owner has not finished.
        unsafe { self.0.as_ref() }
    }
}

/// Returns the tensor to the caller, because the import failed.
///
/// If the value's code has stored the `ImportedTensor` elsewhere, which safe code may do, there
/// are two owners that use the memory. The caller's struct therefore gets a deleter of
/// this module.
impl Drop for RollbackImport {
    fn drop(&mut self) {
        let Shared { original, as_it_came, ref state, .. } = *self.shared();
        let put_away = state.load(Ordering::Acquire) != DROPPED;
        if put_away {
            let manager_ctx = self.0.as_ptr().cast();
            let deleter = Some(caller_done as _);
            let managed = DLManagedTensorVersioned { manager_ctx, deleter, ..as_it_came };
            // SAFETY: by 1 of `new` the struct is alive, and belongs to this function
            // during the call.
            unsafe { original.write(managed) };
        }
        if self.leave(RETURNED) == DROPPED {
            if put_away {
                // Another thread has dropped the `ImportedTensor` since the state was loaded.
                // SAFETY: as above.
                unsafe { original.write(as_it_came) };
            }
            // SAFETY: 1. The `ImportedTensor` was dropped.
            let release = unsafe { free(self.0) };
            forget(release);
        }
    }
}

/// The deleter of the copy, called when the `ImportedTensor` is dropped.
///
/// # Safety
///
/// 1. `copy` is the struct of a [`Shared`], and this is the only call.
unsafe extern "C" fn imported_dropped(copy: *mut DLManagedTensorVersioned) {
    let Some(copy) = NonNull::new(copy) else { return };
    // SAFETY: by 1 the struct is alive, and it is plain data.
    let copy = unsafe { copy.read() };
    let Some(shared) = NonNull::new(copy.manager_ctx.cast::<Shared>()) else { return };
    // SAFETY: the last owner to finish frees it, and the `ImportedTensor` has not finished.
    let state = unsafe { &raw const (*shared.as_ptr()).state };
    // SAFETY: as above.
    let state = unsafe { &*state };
    match state.swap(DROPPED, Ordering::AcqRel) {
        // SAFETY: 1. The `RollbackImport` is gone, and the `ImportedTensor` was dropped.
        KEPT => drop(unsafe { free(shared) }),
        // SAFETY: 1. The `RollbackImport` and the `ImportedTensor` are gone, and the caller has called
        // the deleter.
        DELETED => unsafe { finish(shared) },
        _ => {}
    }
}

/// The deleter of a tensor that was returned while its `ImportedTensor` was stored elsewhere.
///
/// # Safety
///
/// 1. `tensor` is the caller's struct, and this is the only call.
unsafe extern "C" fn caller_done(tensor: *mut DLManagedTensorVersioned) {
    let Some(tensor) = NonNull::new(tensor) else { return };
    // SAFETY: by 1 the struct is alive, and it is plain data.
    let tensor = unsafe { tensor.read() };
    let Some(shared) = NonNull::new(tensor.manager_ctx.cast::<Shared>()) else { return };
    // SAFETY: the last owner to finish frees it, and the caller has not finished.
    let state = unsafe { &raw const (*shared.as_ptr()).state };
    // SAFETY: as above.
    let state = unsafe { &*state };
    if state.swap(DELETED, Ordering::AcqRel) == DROPPED {
        // SAFETY: 1. The `RollbackImport` and the `ImportedTensor` are gone, and this is the caller's
        // call.
        unsafe { finish(shared) }
    }
}

/// Releases a tensor that was returned.
///
/// # Safety
///
/// 1. As for [`free`], and the caller has called the deleter of its struct.
unsafe fn finish(shared: NonNull<Shared>) {
    // SAFETY: by 1 it is alive.
    let Shared { original, as_it_came, .. } = unsafe { shared.as_ref() };
    // The producer's deleter must find the struct as the producer wrote it.
    // SAFETY: by 1 the struct is alive: its own deleter was not called yet.
    unsafe { original.write(*as_it_came) };
    // SAFETY: 1 (`shared` is not used any more): guaranteed by our caller's 1.
    drop(unsafe { free(shared) });
}

/// Frees the shared state, and returns the obligation to release the tensor.
///
/// # Safety
///
/// 1. `shared` came from [`RollbackImport::new`], and nothing uses it any more.
unsafe fn free(shared: NonNull<Shared>) -> Guarded {
    // SAFETY: by 1 it is alive and initialised, and not used after this.
    let Shared { release, .. } = unsafe { shared.read() };
    // SAFETY: `new` allocated it with this layout.
    unsafe { dealloc(shared.as_ptr().cast(), Layout::new::<Shared>()) };
    ManuallyDrop::into_inner(release)
}

/// Reads the version of a struct.
///
/// # Safety
///
/// 1. As for 1. of [`ImportedTensor::from_raw`], and not NULL.
unsafe fn version_of<A: Abi>(managed: NonNull<A>) -> Option<Version> {
    // SAFETY: 1 (`managed` is valid, and not NULL): guaranteed by our caller's 1.
    unsafe { A::version_of(managed) }
}

/// Takes the obligation to call the deleter of a struct.
///
/// # Safety
///
/// 1. As for 1. of [`ImportedTensor::from_raw`], and not NULL.
/// 2. As for 2. of it, if the result is dropped.
unsafe fn release_of<A: Abi>(managed: NonNull<A>) -> Release {
    // SAFETY: 1 and 2 (`managed` is valid, its deleter may be called): guaranteed by our
    // caller's 1 and 2.
    unsafe { A::release_of(managed) }
}
