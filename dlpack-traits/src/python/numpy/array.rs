//! Makes NumPy arrays of tensors: [`array_of`], and imports NumPy's arrays without their
//! `__dlpack__`: [`tensor_of`].
//!
//! A function that returns four numbers takes 290 ns. With `numpy.from_dlpack`, which calls
//! `__dlpack__` of an object that has to be made first, it took 650. `__dlpack__` of NumPy 2.4 and
//! the drop of its capsule take 53 ns, before the tensor is imported. This import and its drop take
//! 30.

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use core::slice;

use pyo3::Borrowed;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::device::Device;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::import::{ImportedStorage, ImportedTensor, Unmanaged};
use crate::managed::{ManagedTensor, Release};
use crate::python::capsule;
use crate::python::convert::attached_object;
use crate::python::export::offer::{offer, storage_of};
use crate::python::interpreter::drop_attached::DropAttached;
use crate::python::numpy::c_api::{ArrayObject, CApi, MAX_NDIM, NewArray, WRITEABLE};
use crate::python::numpy::library::NumPy;
use crate::version::Version;

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
    let mut lists = [[0; MAX_NDIM]; 2];
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

/// The array of a tensor on the CPU with at least one element, a dtype that NumPy has, and at
/// most [`MAX_NDIM`] dimensions. `numpy.from_dlpack` converts or rejects all others.
#[inline]
fn plan<'a, 'py>(
    py: Python<'py>,
    api: &'a CApi,
    tensor: &ManagedTensor,
    [shape, strides]: &'a mut [[isize; MAX_NDIM]; 2],
) -> Option<NewArray<'a, 'py>> {
    let dtype = api.dtype(py, tensor.dtype())?;
    let size = isize::try_from(tensor.dtype().byte_size()?).ok()?;
    let first = NonNull::new(tensor.data_ptr().cast_mut())?;
    if tensor.device() != Device::CPU {
        return None;
    }
    let ndim = tensor.ndim();
    let (shape, strides) = (shape.get_mut(..ndim)?, strides.get_mut(..ndim)?);
    for (to, &dim) in shape.iter_mut().zip(tensor.shape()) {
        *to = isize::try_from(dim).ok()?;
    }
    for (to, &stride) in strides.iter_mut().zip(tensor.strides()) {
        *to = isize::try_from(stride).ok()?.checked_mul(size)?;
    }
    Some(NewArray { dtype, shape, strides, first, is_writeable: !tensor.is_read_only() })
}

/// `NPY_ARRAY_WARN_ON_WRITE`, a flag of arrays that will become read-only.
const WARN_ON_WRITE: c_int = 1 << 31;

/// Imports an array of NumPy. The tensor has a reference to the array.
///
/// Returns `None` for other objects, for subclasses, and for every array that needs more than
/// this: more than 8 dimensions, a dtype that DLPack does not have, strides that are not a
/// multiple of the element's size, memory that NumPy imported by DLPack. The caller then calls
/// `__dlpack__`, which exports the array or raises.
#[inline]
pub(in crate::python) fn tensor_of(object: &Bound<'_, PyAny>) -> Option<ImportedTensor> {
    let api = NumPy::loaded(object.py())?.c_api()?;
    if !api.reads(object.get_type_ptr()) {
        return None;
    }
    read(api, object)
}

fn read(api: &CApi, object: &Bound<'_, PyAny>) -> Option<ImportedTensor> {
    // SAFETY: the object is an array, because its class is NumPy's, whose objects have this
    // struct: `CApi::reads`. This thread has the GIL, so no other thread writes it.
    let array = unsafe { object.as_ptr().cast::<ArrayObject>().read() };
    let dtype = api.dtype_of(array.dtype)?;
    let size = dtype.byte_size()?;
    let ndim = usize::try_from(array.ndim).ok().filter(|&ndim| ndim <= MAX_NDIM)?;
    if array.flags & WARN_ON_WRITE != 0 || !is_on_cpu(api, array.base) {
        return None;
    }
    let (mut shape, mut strides) = ([0_i64; MAX_NDIM], [0_i64; MAX_NDIM]);
    if ndim > 0 {
        // SAFETY: an array has `ndim` sizes and strides, which no thread writes as long as this
        // one has the GIL.
        let [dims, steps] =
            [array.shape, array.strides].map(|first| unsafe { slice::from_raw_parts(first, ndim) });
        shape.iter_mut().zip(dims).for_each(|(to, &dim)| *to = dim as i64);
        for (to, &step) in strides.iter_mut().zip(steps) {
            *to = in_elements(step as i64, size)?;
        }
    }
    let flags = if array.flags & WRITEABLE == 0 { Flags::READ_ONLY } else { Flags::NONE };
    let tensor = DLTensor {
        data: array.data.cast(),
        device: Device::CPU.to_ffi(),
        ndim: array.ndim,
        dtype: dtype.to_ffi(),
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let owner = NonNull::new(object.clone().into_ptr())?.cast();
    // SAFETY: 1. The tensor owns this reference, which any thread may release.
    let release = unsafe { Release::of_owner(owner, release_array) };
    // SAFETY: 1. The lists are above. The array keeps its memory alive, and NumPy is trusted
    // as a producer of DLPack is: by its `__dlpack__` it would export the same.
    let tensor = unsafe { Unmanaged::new(tensor, flags, Some(Version::CURRENT)) };
    ImportedTensor::of_owner(&tensor, release.into()).ok()
}

/// Converts a stride from bytes to elements, whose size is a power of two.
#[inline]
fn in_elements(bytes: i64, size: usize) -> Option<i64> {
    let elements = bytes.wrapping_shr(size.trailing_zeros());
    (elements.wrapping_shl(size.trailing_zeros()) == bytes).then_some(elements)
}

/// A reference to an array, which only [`release_array`] drops.
struct ArrayReference(NonNull<PyObject>);

impl Drop for ArrayReference {
    fn drop(&mut self) {
        // SAFETY: `release_array` owns the reference, and drops this attached.
        unsafe { ffi::Py_DECREF(self.0.as_ptr()) }
    }
}

/// Releases the reference of a tensor to its array, on any thread.
///
/// # Safety
///
/// 1. `owner` is an owned reference to a Python object, which is not used again.
unsafe extern "C" fn release_array(owner: NonNull<c_void>) {
    drop(DropAttached::new(ArrayReference(owner.cast())));
}

/// Whether the memory of an array is that of the processor. Arrays that NumPy imported by
/// DLPack have a capsule as the last of their bases, and may be in memory of another device
/// that the processor can read; only `__dlpack_device__` reports it. Those that this crate made
/// have a capsule of another name, and are on the CPU.
fn is_on_cpu(api: &CApi, mut base: *mut PyObject) -> bool {
    while !base.is_null() {
        // SAFETY: this thread is attached. An array keeps its base alive, and the first array
        // is alive as long as its object is borrowed.
        let object: Borrowed<'_, '_, PyAny> = unsafe { attached_object(base) };
        if !api.reads(object.get_type_ptr()) {
            let is_capsule = object.is_exact_instance_of::<PyCapsule>();
            return if is_capsule { capsule::is_owner(&object) } else { !api.is_array(&object) };
        }
        // SAFETY: the object is an array, as in `read`.
        base = unsafe { base.cast::<ArrayObject>().read() }.base;
    }
    true
}
