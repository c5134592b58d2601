//! Selects whether objects can be created from tensors: [`Importable`],
//! [`NotImportable`].

use core::ffi::c_void;

use super::rollback::RollbackImport;
use super::{ObjectHost, TableError, Wrap};
use crate::export::DLPackExport;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::DLPackImport;

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
