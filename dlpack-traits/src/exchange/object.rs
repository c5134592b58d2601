//! Whether objects are made of tensors: [`Importable`], [`NotImportable`].

use core::ffi::c_void;

use super::held::Held;
use super::{Fault, Host, Wrap};
use crate::export::DLPackExport;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::DLPackImport;

/// The class only exports.
#[derive(Debug)]
pub struct NotImportable(());

/// The class is built from tensors too.
#[derive(Debug)]
pub struct Importable(());

/// What a table does when it is to make an object of a tensor: [`Importable`],
/// or [`NotImportable`]. Nothing else implements this.
#[diagnostic::on_unimplemented(
    message = "objects of `{T}` cannot be made of tensors here",
    note = "`Importable` needs `{T}: DLPackImport`, and a host that can `Wrap` it"
)]
pub trait ToObject<T: DLPackExport, H: Host<T>>: sealed::Sealed + 'static {
    /// Makes an object of a tensor, which it takes over. After a failure the
    /// tensor is the caller's still.
    ///
    /// # Safety
    ///
    /// 1. As for [`Imported::from_raw`](crate::Imported::from_raw).
    /// 2. The calling thread may use the host.
    #[doc(hidden)]
    unsafe fn to_object(
        tensor: *mut DLManagedTensorVersioned,
    ) -> Result<*mut c_void, Fault<H::Error>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Importable {}
    impl Sealed for super::NotImportable {}
}

impl<T: DLPackExport, H: Host<T>> ToObject<T, H> for NotImportable {
    unsafe fn to_object(_: *mut DLManagedTensorVersioned) -> Result<*mut c_void, Fault<H::Error>> {
        Err(Fault::NotImportable)
    }
}

impl<T: DLPackExport + DLPackImport, H: Wrap<T>> ToObject<T, H> for Importable {
    unsafe fn to_object(
        tensor: *mut DLManagedTensorVersioned,
    ) -> Result<*mut c_void, Fault<H::Error>> {
        // SAFETY: 1. is 1. of this function.
        let (held, imported) = unsafe { Held::new(tensor, H::DELETERS) }?;
        // Whichever way this is left, with an error or by a panic, `held` is dropped after
        // what was made of the tensor, and gives it back.
        let value = T::from_dlpack(imported)?;
        // SAFETY: 1. is 2. of this function.
        let object = unsafe { H::wrap(value) }?;
        held.keep();
        Ok(object)
    }
}
