//! Arrays on devices as function arguments: [`PyDeviceTensor`].

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;

use super::checks::{self, ANY_RANK, FixedRank, Rank};
use super::exceptions;
use super::tensor::dims_of;
use crate::backend::{Backend, DeviceTensor, MemoryRef, WorkStream};
use crate::import::{AnyElement, ImportedElement};
use crate::python::convert::exchange_error;
use crate::python::import::device_tensor::import_on;
use crate::python::import::missing_protocol::Advice;

/// An array argument in memory of a device, for a kernel on the caller's stream: as
/// [`PyTensor`](super::PyTensor), of a [`Backend`].
///
/// The array is ready on [`stream`](DeviceTensor::stream). This is the current stream of
/// the array's library if the library names it (the `current_work_stream` of its exchange
/// table; the `sycl_queue` of an array of SYCL), and the current stream of the backend
/// otherwise. The call does not make the host wait.
///
/// ```no_run
/// # #[cfg(all(feature = "cuda", feature = "derive"))] {
/// use dlpack_traits::backend::{Cuda, DeviceBuffer, MemoryRef};
/// use dlpack_traits::python::{IntoPython, PyDeviceTensor};
/// use dlpack_traits::{DLPackExport, DataType};
/// use pyo3::prelude::*;
///
/// # unsafe fn launch_double(_: *mut core::ffi::c_void, _: MemoryRef, _: MemoryRef, _: usize) {}
/// #[derive(DLPackExport)]
/// struct OnGpu { data: DeviceBuffer<Cuda>, shape: [usize; 1] }
///
/// /// Twice each element, on the caller's stream.
/// # #[allow(dead_code)]
/// fn doubled<'py>(
///     py: Python<'py>,
///     x: PyDeviceTensor<'py, Cuda, f32, 1>,
/// ) -> PyResult<Bound<'py, PyAny>> {
///     let (shape, stream) = (x.dims(), x.stream());
///     let data = DeviceBuffer::zeroed_on(stream.clone(), DataType::F32, shape[0])?;
///     let (from, to) = (x.as_ptr_on(stream)?, data.place());
///     // SAFETY: both have `shape[0]` elements, which are ready on this stream.
///     unsafe { launch_double(stream.handle().as_ptr(), from, to, shape[0]) };
///     OnGpu { data, shape }.into_object_like(py, &x)
/// }
/// # }
/// ```
///
/// Shape, strides and pointers are those of [`DeviceTensor`]. Launch all work on the array
/// before the argument is dropped.
///
/// # Errors
///
/// Python raises
/// - `TypeError` if the argument is not an array, is a capsule, or has another dtype,
/// - `ValueError` if it has another number of dimensions, or is not in memory of the
///   backend,
/// - what its `__dlpack__` raises, and `BufferError` for an error of the device.
pub struct PyDeviceTensor<'py, B: Backend, T = AnyElement, const N: usize = ANY_RANK> {
    tensor: DeviceTensor<B>,
    object: Py<PyAny>,
    checked: PhantomData<fn() -> (&'py (), T)>,
}

impl<'py, B: Backend, T: ImportedElement, const N: usize> FromPyObject<'_, 'py>
    for PyDeviceTensor<'py, B, T, N>
{
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let tensor = import_on(&object)
            .map_err(|error| exceptions::not_imported(&object, &Advice::Convert(None), error))?;
        checks::check_on_device::<T>(&object, tensor.imported(), N)?;
        Ok(Self { tensor, object: object.to_owned().unbind(), checked: PhantomData })
    }
}

impl<B: Backend, T: ImportedElement, const N: usize> PyDeviceTensor<'_, B, T, N> {
    /// The size of each dimension. It compiles only if the type names their number;
    /// otherwise use [`shape`](DeviceTensor::shape).
    #[inline]
    pub fn dims(&self) -> [usize; N]
    where
        Rank<N>: FixedRank,
    {
        dims_of::<T, N>(self.tensor.imported())
    }
}

impl<B: Backend, T, const N: usize> PyDeviceTensor<'_, B, T, N> {
    /// [`DeviceTensor::as_mut_ptr_on`], with the exceptions of
    /// [`PyTensorMut`](super::PyTensorMut).
    ///
    /// # Errors
    ///
    /// `ValueError` for read-only memory, for elements that share memory, and for a tensor
    /// that requires a gradient; those of [`DeviceTensor::as_ptr_on`].
    pub fn as_mut_ptr_on(&self, stream: &WorkStream<B>) -> PyResult<MemoryRef> {
        let tensor = self.tensor.imported();
        Python::attach(|py| {
            let object = self.object.bind(py);
            checks::check_writable(object, tensor)?;
            checks::check_no_grad(object, tensor)
        })?;
        self.tensor.as_mut_ptr_on(stream).map_err(exchange_error)
    }

    /// The Python object that was passed.
    #[inline]
    pub const fn as_object(&self) -> &Py<PyAny> {
        &self.object
    }
}

impl<B: Backend, T, const N: usize> Deref for PyDeviceTensor<'_, B, T, N> {
    type Target = DeviceTensor<B>;

    #[inline]
    fn deref(&self) -> &DeviceTensor<B> {
        &self.tensor
    }
}

/// Returns the object that was passed, so that a function can return its `out` argument.
impl<'py, B: Backend, T, const N: usize> IntoPyObject<'py> for PyDeviceTensor<'py, B, T, N> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.object.into_bound(py))
    }
}

impl<B: Backend, T, const N: usize> fmt::Debug for PyDeviceTensor<'_, B, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyDeviceTensor").field(&self.tensor).finish()
    }
}
