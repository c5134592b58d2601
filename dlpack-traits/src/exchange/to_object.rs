//! Selects whether objects can be created from tensors ([`Importable`], [`NotImportable`]), and imports
//! a tensor so that it can be returned to its owner on failure ([`RollbackImport`]).

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::NonNull;

use super::{ObjectHost, TableError, Wrap};
use crate::atomic::{AtomicU8, Ordering};
use crate::error::Error;
use crate::export::DLPackExport;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::{DLPackImport, ImportedTensor};
use crate::managed::{Guard, GuardedRelease, ManagedStruct};
use crate::storage::{fill, try_place};
use crate::version::Version;

/// The class only exports tensors.
#[derive(Debug)]
pub struct NotImportable(());

/// The class also creates objects from tensors.
#[derive(Debug)]
pub struct Importable(());

/// Implements the function of the table that creates an object from a tensor:
/// [`Importable`] or [`NotImportable`]. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "objects of `{T}` cannot be made of tensors here",
    note = "`Importable` needs `{T}: DLPackImport`, and a host that can `Wrap` it"
)]
pub trait ToObject<T: DLPackExport, H: ObjectHost<T>>: sealed::Sealed + 'static {
    /// Creates an object from a tensor, and takes ownership of the tensor. After a
    /// failure the caller still owns the tensor.
    ///
    /// # Safety
    ///
    /// 1. As for [`ImportedTensor::from_raw`](crate::ImportedTensor::from_raw).
    /// 2. The calling thread may use the host.
    #[doc(hidden)]
    unsafe fn to_object(
        tensor: *mut DLManagedTensorVersioned,
    ) -> Result<*mut c_void, TableError<H::Error>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Importable {}
    impl Sealed for super::NotImportable {}
}

impl<T: DLPackExport, H: ObjectHost<T>> ToObject<T, H> for NotImportable {
    unsafe fn to_object(
        _: *mut DLManagedTensorVersioned,
    ) -> Result<*mut c_void, TableError<H::Error>> {
        Err(TableError::NotImportable)
    }
}

impl<T: DLPackExport + DLPackImport, H: Wrap<T>> ToObject<T, H> for Importable {
    unsafe fn to_object(
        tensor: *mut DLManagedTensorVersioned,
    ) -> Result<*mut c_void, TableError<H::Error>> {
        // SAFETY: 1 (`tensor` is valid): guaranteed by our caller's 1, and so is 2: the call owns the
        // struct, and both are settled before it returns.
        let (held, imported) = unsafe { RollbackImport::new(tensor, H::DELETERS) }?;
        // On an error or a panic, `held` is dropped after the value that was made from
        // the tensor, and returns the tensor to the caller.
        let value = T::from_dlpack(imported)?;
        // SAFETY: 1 (this thread may use the host): guaranteed by our caller's 2.
        let object = unsafe { H::wrap(value) }?;
        held.keep();
        Ok(object)
    }
}

/// The second owner of an imported tensor, beside an [`ImportedTensor`]: as long as it exists,
/// dropping the `ImportedTensor` does not release the tensor.
///
/// Code that builds a value from an `ImportedTensor` may drop it at any moment, also before it
/// returns an error, after which the caller must own the tensor again. The `ImportedTensor` is
/// therefore made from a copy of the struct, with a deleter of this module.
pub(super) struct RollbackImport(
    /// `None` after [`keep`](Self::keep).
    Option<Half>,
);

/// The state that [`RollbackImport`] and the `ImportedTensor` share. The last of them to
/// finish frees it.
#[repr(C)]
struct Shared {
    /// The struct of the `ImportedTensor`. The first field, so that a pointer to it is a
    /// pointer to the whole struct. In a cell, because the `ImportedTensor` may give it to C
    /// code, which may write to it while another owner reads the other fields.
    managed: UnsafeCell<DLManagedTensorVersioned>,
    /// The caller's struct, and a copy of its initial contents.
    original: NonNull<DLManagedTensorVersioned>,
    initial: DLManagedTensorVersioned,
    /// Releases the tensor, unless the tensor is returned to the caller.
    release: GuardedRelease,
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

/// One of the two owners of a [`Shared`], which stays allocated until both have left.
struct Half(NonNull<Shared>);

impl Half {
    /// The owner to which the argument of a deleter of this module belongs.
    ///
    /// # Safety
    ///
    /// 1. `managed` points to a struct whose `manager_ctx` this module set, on behalf of an
    ///    owner for which this is the only call, or to a copy of such a struct.
    unsafe fn of(managed: *mut DLManagedTensorVersioned) -> Option<Self> {
        // SAFETY: 1. Guaranteed by our caller's 1.
        unsafe { DLManagedTensorVersioned::read_ctx(managed) }.map(|ctx| Self(ctx.cast()))
    }

    /// Returns the shared state.
    fn shared(&self) -> &Shared {
        // SAFETY: the last owner to leave frees it, and this owner has not left.
        unsafe { self.0.as_ref() }
    }

    /// Sets the final state of this owner. Returns what the other owner did before, and the
    /// shared state, if this is the last owner to leave.
    fn leave(self, state: u8) -> Option<(u8, Box<Shared>)> {
        match self.shared().state.swap(state, Ordering::AcqRel) {
            // The other owner has not left. After RETURNED it is the caller.
            OPEN | RETURNED => None,
            // SAFETY: `new` allocated it in a box, and the other owner has left.
            before => Some((before, unsafe { Box::from_raw(self.0.as_ptr()) })),
        }
    }
}

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
    /// 2. Until the [`RollbackImport`] is kept or dropped, only this module reads and writes the struct.
    pub(super) unsafe fn new(
        tensor: *mut DLManagedTensorVersioned,
        guard: Option<Guard>,
    ) -> Result<(Self, ImportedTensor), Error> {
        let original = NonNull::new(tensor).ok_or(Error::NullTensor)?;
        // SAFETY: 1 (`tensor` is valid): guaranteed by our caller's 1 (1 of `from_raw`).
        let version = unsafe { ManagedStruct::version_field(original) };
        let version = version.map(|&version| Version::from(version));
        if let Some(found) = version.filter(|version| !version.is_readable()) {
            return Err(Error::VersionUnsupported { found });
        }
        let place = try_place().ok_or(Error::OutOfMemory { bytes: size_of::<Shared>() })?;
        // SAFETY: by our caller's 1 (1 of `from_raw`) the struct is complete, since its
        // version is readable.
        let initial = unsafe { original.read() };
        let copy = DLManagedTensorVersioned { deleter: Some(imported_dropped), ..initial };
        // SAFETY: 1 and 2: guaranteed by our caller's 1 (1 and 2 of `from_raw`). The
        // result is dropped once, if the tensor is not returned to the caller.
        let release = unsafe { ManagedStruct::release_of(original) };
        let release = GuardedRelease::new(release, guard);
        let (managed, state) = (UnsafeCell::new(copy), AtomicU8::new(OPEN));
        let shared = fill(place, Shared { managed, original, initial, release, state });
        let shared = Box::into_raw(shared);
        // SAFETY: the box was just made, and no other owner uses it yet.
        unsafe { (*shared).managed.get_mut().manager_ctx = shared.cast() };
        let held = Self(NonNull::new(shared).map(Half));
        // SAFETY: 1 to 3. The copy is a struct of this module, and its deleter may be
        // called once, by any thread. The arrays are those of the original, and so are 4
        // and 5 until the deleter of this module calls the original one.
        let imported =
            unsafe { ImportedTensor::from_raw(shared.cast::<DLManagedTensorVersioned>()) }?;
        Ok((held, imported))
    }

    /// Leaves the tensor to the `ImportedTensor`. If that was dropped, this releases the tensor.
    pub(super) fn keep(mut self) {
        drop(self.0.take().and_then(|half| half.leave(KEPT)));
    }
}

/// Returns the tensor to the caller, because the import failed.
///
/// If the value's code has stored the `ImportedTensor` elsewhere, which safe code may do, there
/// are two owners that use the memory. The caller's struct therefore gets a deleter of
/// this module.
impl Drop for RollbackImport {
    fn drop(&mut self) {
        let Some(half) = self.0.take() else { return };
        let &Shared { original, initial, ref state, .. } = half.shared();
        let put_away = state.load(Ordering::Acquire) != DROPPED;
        if put_away {
            let manager_ctx = half.0.as_ptr().cast();
            let deleter = Some(caller_done as _);
            let managed = DLManagedTensorVersioned { manager_ctx, deleter, ..initial };
            // SAFETY: by 1 of `new` the struct is alive, because its deleter was not called, and by 2
            // nothing else accesses it.
            unsafe { original.write(managed) };
        }
        if let Some((_, mut shared)) = half.leave(RETURNED) {
            if put_away {
                // Another thread has dropped the `ImportedTensor` since the state was loaded.
                // SAFETY: as above.
                unsafe { original.write(initial) };
            }
            // The caller releases the tensor.
            shared.release.forget();
        }
    }
}

/// The deleter of the copy, called when the `ImportedTensor` is dropped.
///
/// # Safety
///
/// 1. `copy` is the struct of a [`Shared`], and this is the only call.
unsafe extern "C" fn imported_dropped(copy: *mut DLManagedTensorVersioned) {
    // SAFETY: 1. Guaranteed by our caller's 1, on behalf of the `ImportedTensor`.
    let half = unsafe { Half::of(copy) };
    match half.and_then(|half| half.leave(DROPPED)) {
        // The `RollbackImport` and the `ImportedTensor` are gone, and the caller has called the deleter.
        Some((DELETED, shared)) => release_returned(*shared),
        shared => drop(shared),
    }
}

/// The deleter of a tensor that was returned while its `ImportedTensor` was stored elsewhere.
///
/// # Safety
///
/// 1. `tensor` is the caller's struct, and this is the only call.
unsafe extern "C" fn caller_done(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: 1. Guaranteed by our caller's 1, on behalf of the caller.
    let half = unsafe { Half::of(tensor) };
    if let Some((_, shared)) = half.and_then(|half| half.leave(DELETED)) {
        release_returned(*shared);
    }
}

/// Releases a tensor that was returned, after both its owners have left.
fn release_returned(shared: Shared) {
    // The producer's deleter must find the struct as the producer wrote it.
    // SAFETY: by 1 of `new` the struct is alive until its own deleter is called, which
    // `shared` does when it is dropped.
    unsafe { shared.original.write(shared.initial) };
    drop(shared);
}
