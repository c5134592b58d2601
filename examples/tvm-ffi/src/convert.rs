//! Tensors of tvm-ffi as types of `dlpack-traits`, and the reverse, zero-copy. tvm-ffi's tensors have no
//! READ_ONLY flag, so [`argument`] sets it, and [`result`] rejects it.

use std::ptr;

use dlpack_traits::ffi::{DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_READ_ONLY};
use dlpack_traits::{DLPackExport, DLPackImport, ImportError, ImportedTensor, MismatchKind};
use tvm_ffi::tvm_ffi_sys::{TVMFFITensorFromDLPackVersioned, TVMFFITensorToDLPackVersioned};
use tvm_ffi::{Error, ObjectArc, ObjectRefCore, Result, TYPE_ERROR, Tensor, VALUE_ERROR};

/// Imports an argument that the function reads. Its requirements are those of the type.
///
/// # Errors
///
/// `TypeError` for another dtype, `ValueError` for another shape.
pub fn argument<T: DLPackImport>(tensor: &Tensor) -> Result<T> {
    // SAFETY: 1. Nothing writes through the import.
    unsafe { import(tensor, DLPACK_FLAG_BITMASK_READ_ONLY) }
}

/// Imports an argument that the function may write, or of which it returns a part.
///
/// # Safety
///
/// 1. The memory may be written. A read-only array of NumPy, for example, becomes a tensor of
///    tvm-ffi like any other.
///
/// # Errors
///
/// Those of [`argument`].
pub unsafe fn argument_mut<T: DLPackImport>(tensor: &Tensor) -> Result<T> {
    // SAFETY: 1. By 1.
    unsafe { import(tensor, 0) }
}

/// # Safety
///
/// 1. The memory may be written, or `flags` has READ_ONLY.
unsafe fn import<T: DLPackImport>(tensor: &Tensor, flags: u64) -> Result<T> {
    // SAFETY: the object is alive.
    let object = unsafe { ObjectArc::as_raw(Tensor::data(tensor)) };
    let mut managed = ptr::null_mut();
    // SAFETY: the object is a tensor, and the result may be written.
    let code = unsafe { TVMFFITensorToDLPackVersioned(object.cast_mut().cast(), &raw mut managed) };
    if code != 0 {
        return Err(Error::from_raised());
    }
    let managed = managed.cast::<DLManagedTensorVersioned>();
    // SAFETY: the call returned a new struct, which is ours.
    unsafe { (*managed).flags |= flags };
    // SAFETY: 1. to 3. The struct is new and ours. 4. It describes memory that the object keeps
    // alive; READ_ONLY by 1. 5. A caller of a function of tvm-ffi does not write its arguments
    // meanwhile.
    let tensor = unsafe { ImportedTensor::from_raw(managed) }.map_err(ImportError::from);
    tensor.and_then(T::from_dlpack).map_err(|error| raised(&error))
}

/// Exports a result, which moves into the tensor.
///
/// # Errors
///
/// `ValueError` for a layout that does not fit, and for memory that consumers must not write.
pub fn result<T: DLPackExport + Send + 'static>(value: T) -> Result<Tensor> {
    let managed = value.into_dlpack().map_err(|error| raised(&error.into()))?;
    if managed.is_read_only() {
        let text = "a read-only tensor cannot be passed to tvm-ffi: return a copy";
        return Err(Error::new(VALUE_ERROR, text, ""));
    }
    let mut object = ptr::null_mut();
    // SAFETY: the struct is valid, and the result may be written.
    let code =
        unsafe { TVMFFITensorFromDLPackVersioned(managed.as_raw().cast(), 0, 0, &raw mut object) };
    if code != 0 {
        // The struct is still ours, and is dropped.
        return Err(Error::from_raised());
    }
    // The object has taken it.
    let _ = managed.into_raw();
    // SAFETY: the call made an object, and we hold its only reference.
    let object = unsafe { ObjectArc::from_raw(object as *const _) };
    // SAFETY: the object is a tensor.
    Ok(unsafe { Tensor::from_data(object) })
}

/// An error as the exception that Python raises.
fn raised(error: &ImportError) -> Error {
    let kind = match error {
        ImportError::Mismatch(mismatch)
            if matches!(mismatch.unmet(), MismatchKind::DType { .. }) =>
        {
            TYPE_ERROR
        }
        _ => VALUE_ERROR,
    };
    Error::new(kind, &error.to_string(), "")
}
