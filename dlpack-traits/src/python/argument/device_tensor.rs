//! Arrays on devices as function arguments: [`PyDeviceTensor`].

use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::prelude::*;

use super::checks::{self, ANY_RANK};
use super::mismatch;
use super::tensor::{Access, PyTensor};
use crate::backend::{Backend, DeviceBuffer, DeviceTensor, MemoryRef, WorkStream};
use crate::device::Device;
use crate::import::{AnyElement, ImportedElement, ImportedTensor, IsStored};
use crate::python::convert::exchange_error;
use crate::python::import::advice::Advice;
use crate::python::import::device_tensor::import_on;
use crate::stream_arg::StreamArg;

/// An array argument in memory of a device, for a kernel on the caller's stream: as
/// [`PyTensor`], of a [`Backend`].
///
/// The array is ready on [`stream`](DeviceTensor::stream). This is the current stream of
/// the array's library if the library names it (the `current_work_stream` of its exchange
/// table; the `sycl_queue` of an array of SYCL), and the current stream of the backend
/// otherwise. The call does not make the host wait.
///
/// ```no_run
/// # #[cfg(all(feature = "cuda", feature = "derive"))] {
/// use dlpack_traits::backend::{Cuda, DeviceBuffer, MemoryRef};
/// use dlpack_traits::python::{IntoPython, PyDeviceTensor, PyLike};
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
/// ) -> PyResult<PyLike<'py>> {
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
pub type PyDeviceTensor<'py, B, T = AnyElement, const N: usize = ANY_RANK> =
    PyTensor<'py, T, N, OnDevice<B>>;

/// The function launches a kernel on the stream of the array.
#[derive(Debug)]
pub struct OnDevice<B>(PhantomData<fn() -> B>);

impl<B: Backend> Access for OnDevice<B> {
    type Tensor = DeviceTensor<B>;

    const NAME: &'static str = "PyDeviceTensor";

    fn import<T: ImportedElement>(
        object: &Bound<'_, PyAny>,
        rank: usize,
    ) -> PyResult<DeviceTensor<B>> {
        let () = IsStored::<T>::OK;
        const { assert!(T::RECORD.is_none(), "a kernel takes the tensor of each field of a record") };
        let tensor = import_on(object)
            .map_err(|error| mismatch::not_imported(object, &Advice::Convert(None), error))?;
        checks::check_on_device::<B, T>(object, tensor.imported(), rank)?;
        Ok(tensor)
    }

    fn imported(tensor: &DeviceTensor<B>) -> &ImportedTensor {
        tensor.imported()
    }

    fn device_stream(tensor: &DeviceTensor<B>) -> Option<(Device, StreamArg<'_>)> {
        Some((tensor.device(), tensor.stream().as_arg()))
    }
}

impl<B: Backend, T, const N: usize> Deref for PyDeviceTensor<'_, B, T, N> {
    type Target = DeviceTensor<B>;

    #[inline]
    fn deref(&self) -> &DeviceTensor<B> {
        &self.tensor
    }
}

impl<B: Backend, T, const N: usize> PyDeviceTensor<'_, B, T, N> {
    /// Keeps the argument, as a field of a class: [`DeviceTensor::into_buffer`].
    ///
    /// # Errors
    ///
    /// `BufferError`, also for read-only memory.
    pub fn into_buffer(self) -> PyResult<DeviceBuffer<B>> {
        self.tensor.into_buffer().map_err(exchange_error)
    }

    /// The elements of pinned or unified memory for the processor: [`DeviceTensor::into_host`].
    ///
    /// # Errors
    ///
    /// `BufferError` for memory that the processor does not read, and for an error of the device.
    pub fn into_host(self) -> PyResult<ImportedTensor> {
        self.tensor.into_host().map_err(exchange_error)
    }

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
}
