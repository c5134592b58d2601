//! Makes NumPy arrays of tensors: [`array_of`].
//!
//! A function that returns four numbers takes 290 ns. With `numpy.from_dlpack`, which calls
//! `__dlpack__` of an object that has to be made first, it took 650.

use core::ptr::NonNull;

use pyo3::prelude::*;

use super::c_api::{CApi, MAX_NDIM, NewArray};
use super::library::NumPy;
use crate::device::Device;
use crate::import::ImportedStorage;
use crate::managed::ManagedTensor;
use crate::python::capsule;
use crate::python::export::offer::{offer, storage_of};

/// Makes an array that owns a tensor.
///
/// # Errors
///
/// `ModuleNotFoundError` without NumPy, and what NumPy raises: `BufferError` for a dtype
/// that it does not have. The tensor is then released.
pub(in crate::python) fn array_of(
    py: Python<'_>,
    tensor: ManagedTensor,
) -> PyResult<Bound<'_, PyAny>> {
    let numpy = NumPy::get(py)?;
    let mut lists = NpyIntp::new();
    match numpy.c_api().and_then(|api| Some((api, plan(py, api, &tensor, &mut lists)?))) {
        Some((api, array)) => {
            let owner = capsule::owner(py, tensor.into())?;
            // SAFETY: 1. `plan` takes both lists from arrays of that size, with one length.
            // 2. The elements are those of the tensor, which lends them until the owner is
            // destroyed, for writing too if it is not READ_ONLY.
            unsafe { api.new_array(&array, owner) }
        }
        None => array_by_protocol(py, storage_of(tensor)?),
    }
}

/// Makes an array of a tensor by `numpy.from_dlpack`.
///
/// # Errors
///
/// Those of [`array_of`].
pub(in crate::python) fn array_by_protocol(
    py: Python<'_>,
    tensor: ImportedStorage,
) -> PyResult<Bound<'_, PyAny>> {
    NumPy::get(py)?.importer(py).call1((offer(py, tensor)?,))
}

/// Space for the shape and the strides of an array.
struct NpyIntp {
    shape: [isize; MAX_NDIM],
    strides: [isize; MAX_NDIM],
}

impl NpyIntp {
    #[inline]
    const fn new() -> Self {
        Self { shape: [0; MAX_NDIM], strides: [0; MAX_NDIM] }
    }
}

/// The array of a tensor on the CPU with at least one element, a dtype that NumPy has, and at
/// most [`MAX_NDIM`] dimensions. `numpy.from_dlpack` converts or rejects all others.
#[inline]
fn plan<'a, 'py>(
    py: Python<'py>,
    api: &'a CApi,
    tensor: &ManagedTensor,
    lists: &'a mut NpyIntp,
) -> Option<NewArray<'a, 'py>> {
    let dtype = api.dtype(py, tensor.dtype())?;
    let size = isize::try_from(tensor.dtype().byte_size()?).ok()?;
    let first = NonNull::new(tensor.data_ptr().cast_mut())?;
    if tensor.device() != Device::CPU {
        return None;
    }
    let ndim = tensor.ndim();
    let (shape, strides) = (lists.shape.get_mut(..ndim)?, lists.strides.get_mut(..ndim)?);
    for (to, &dim) in shape.iter_mut().zip(tensor.shape()) {
        *to = isize::try_from(dim).ok()?;
    }
    for (to, &stride) in strides.iter_mut().zip(tensor.strides()) {
        *to = isize::try_from(stride).ok()?.checked_mul(size)?;
    }
    Some(NewArray { dtype, shape, strides, first, is_writeable: !tensor.is_read_only() })
}
