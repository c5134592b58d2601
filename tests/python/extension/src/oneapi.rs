//! Tensors in USM of SYCL, as a Python class, and a consumer of such tensors.

use dlpack_traits::backend::{
    Cpu, DeviceBuffer, OneApi, StreamHandle, Usm, UsmKind, WorkStream, copy_to_host,
};
use dlpack_traits::python::ImportOptions;
use dlpack_traits::{DLPackExport, DataType, Device, ImportedStorage, ffi, python};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// `float32`s in USM of a kind: zeros, or another library's.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct InUsm {
    data: DeviceBuffer<OneApi>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

const fn oneapi(index: i32) -> Device {
    Device::new(ffi::kDLOneAPI, index)
}

/// The queue at an address, or the current one.
fn stream(index: i32, queue: Option<usize>) -> PyResult<WorkStream<OneApi>> {
    let device = oneapi(index);
    let Some(queue) = queue else { return Ok(WorkStream::current(device)?) };
    let handle = StreamHandle::from_number(queue);
    // SAFETY: 1. The test has a `SyclQueue` there.
    Ok(unsafe { OneApi::work_stream(device, handle) }?)
}

const fn name(kind: UsmKind) -> &'static str {
    match kind {
        UsmKind::Device => "device",
        UsmKind::Shared => "shared",
        UsmKind::Host => "host",
    }
}

impl InUsm {
    fn usm(&self) -> PyResult<Usm> {
        Ok(OneApi::recognize(self.data.as_ptr(), self.data.device())?)
    }
}

#[pymethods]
impl InUsm {
    /// Zeros, for work on the queue.
    #[new]
    #[pyo3(signature = (count, kind, index, queue = None))]
    fn new(count: usize, kind: &str, index: i32, queue: Option<usize>) -> PyResult<Self> {
        let kinds = [UsmKind::Device, UsmKind::Shared, UsmKind::Host];
        let known = kinds.into_iter().find(|known| name(*known) == kind);
        let kind = known.ok_or_else(|| PyValueError::new_err("there is no such kind"))?;
        let data = OneApi::zeroed_usm(kind, stream(index, queue)?, DataType::F32, count)?;
        let shape = vec![i64::try_from(count)?];
        Ok(Self { data, shape, strides: vec![1], byte_offset: 0 })
    }

    /// Takes the tensor of a capsule; or of an object that has no pending work, or that
    /// receives the `SyclQueue` to order its work before. The tensor is ready after the
    /// work of the queue.
    #[staticmethod]
    #[pyo3(signature = (object, queue = None, stream = None))]
    fn take(
        object: &Bound<'_, PyAny>,
        queue: Option<usize>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = ImportOptions::new();
        let options = stream.map_or(options, |stream| options.stream_object(stream));
        let tensor = python::from_dlpack_with(object, &options)?;
        OneApi::recognize(tensor.data_ptr().cast(), tensor.device())?;
        let stream = self::stream(tensor.device().device_id(), queue)?;
        let foreign: ImportedStorage = ImportedStorage::new(tensor)?;
        let tensor = foreign.imported();
        let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
        // From the lowest element to the first.
        let byte_offset = tensor.byte_range().start.unsigned_abs();
        // SAFETY: 1. The test gave the stream for which the tensor was exported.
        let data = unsafe { DeviceBuffer::from_foreign(foreign, stream) }?;
        Ok(Self { data, shape, strides, byte_offset })
    }

    /// Returns the kind of memory, as the runtime reports it.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        Ok(name(self.usm()?.kind()))
    }

    /// Returns the index of the root device, as the runtime reports it.
    #[getter]
    fn index(&self) -> PyResult<i32> {
        Ok(self.usm()?.device().device_id())
    }

    /// The lowest address.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.as_ptr().addr()
    }

    /// The elements, after the work of the stream.
    fn to_list(&self) -> PyResult<Vec<f32>> {
        let copy = copy_to_host::<OneApi, _>(self)?.import()?;
        Ok(copy.elements::<f32>()?.to_vec()?)
    }
}

/// The number of root devices.
#[pyfunction]
fn sycl_devices() -> PyResult<usize> {
    Ok(OneApi::device_count()?)
}

/// Returns what the runtime reports for an address with a declared device.
#[pyfunction]
fn recognize_usm(data: usize, index: i32) -> PyResult<(i32, &'static str)> {
    let found = OneApi::recognize(core::ptr::without_provenance(data), oneapi(index))?;
    Ok((found.device().device_id(), name(found.kind())))
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<InUsm>().backends::<(Cpu, OneApi)>().add(m)?;
    m.add_function(wrap_pyfunction!(sycl_devices, m)?)?;
    m.add_function(wrap_pyfunction!(recognize_usm, m)?)
}
