//! Tensors in buffers of OpenCL, as a Python class.

use dlpack_traits::backend::{
    Cpu, DeviceBuffer, OpenCl, StreamGuard, StreamHandle, WorkStream, copy_to_host,
};
use dlpack_traits::{
    DLPackExport, DLPackImport, DataType, Device, ImportError, ImportedStorage, ImportedTensor,
    ffi, python,
};
use pyo3::prelude::*;

/// `float32`s in a `cl_mem` that another library made.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct InClBuffer {
    data: DeviceBuffer<OpenCl>,
    shape: Vec<i64>,
    byte_offset: usize,
}

fn stream(index: i32, queue: usize) -> PyResult<WorkStream<OpenCl>> {
    let device = Device::new(ffi::kDLOpenCL, index);
    // SAFETY: 1. The test has a queue there.
    Ok(unsafe { OpenCl::work_stream(device, StreamHandle::from_number(queue)) }?)
}

#[pymethods]
impl InClBuffer {
    /// All of a buffer but its first `byte_offset` bytes, after the work of a queue.
    #[new]
    fn new(buffer: usize, byte_offset: usize, index: i32, queue: usize) -> PyResult<Self> {
        let handle = core::ptr::with_exposed_provenance_mut(buffer);
        // SAFETY: 1. The test has a buffer there.
        let memory = unsafe { OpenCl::memory(handle) }?;
        let count = memory.byte_len().saturating_sub(byte_offset).wrapping_div(4);
        // SAFETY: 1. The test gave the queue on which the buffer is filled. 2. It may be
        // written, and no memory of the host is behind it.
        let data = unsafe { OpenCl::adopt(memory, DataType::F32, stream(index, queue)?) }?;
        Ok(Self { data, shape: vec![i64::try_from(count)?], byte_offset })
    }

    /// The tensor of a capsule, after the work of a queue.
    #[staticmethod]
    fn take(object: &Bound<'_, PyAny>, queue: usize) -> PyResult<Self> {
        let tensor = python::from_dlpack(object)?;
        // SAFETY: 1. A tensor of OpenCL has the handle of a buffer.
        unsafe { OpenCl::memory(tensor.data_ptr().cast_mut().cast()) }?.holds(&tensor)?;
        let stream = stream(tensor.device().device_id(), queue)?;
        let shape = tensor.shape().to_vec();
        // SAFETY: 1. The test gave the stream for which the tensor was exported.
        let data = unsafe { DeviceBuffer::from_foreign(ImportedStorage::new(tensor)?, stream) }?;
        Ok(Self { data, shape, byte_offset: 0 })
    }

    /// The handle of the buffer.
    #[getter]
    fn handle(&self) -> usize {
        self.data.as_ptr().addr()
    }

    /// The elements, after the work of the queue.
    fn to_list(&self) -> PyResult<Vec<f32>> {
        let _entered = OpenCl::enter(self.data.stream().clone());
        let copy = copy_to_host::<OpenCl, _>(self)?.import()?;
        Ok(copy.elements::<f32>()?.to_vec()?)
    }
}

impl DLPackImport for InClBuffer {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        let device = tensor.device();
        // SAFETY: 1. A tensor of OpenCL has the handle of a buffer.
        unsafe { OpenCl::memory(tensor.data_ptr().cast_mut().cast()) }?.holds(&tensor)?;
        let shape = tensor.shape().to_vec();
        // SAFETY: 1. The table of the class names the current queue.
        let data = unsafe {
            DeviceBuffer::from_foreign(ImportedStorage::new(tensor)?, WorkStream::current(device)?)
        }?;
        Ok(Self { data, shape, byte_offset: 0 })
    }
}

/// This thread works on a queue of the caller's, until it leaves.
#[pyclass(unsendable, module = "dlpack_testing")]
pub(crate) struct EnteredCl(Option<StreamGuard>);

#[pymethods]
impl EnteredCl {
    #[new]
    fn new(index: i32, queue: usize) -> PyResult<Self> {
        Ok(Self(Some(OpenCl::enter(stream(index, queue)?))))
    }

    fn leave(&mut self) {
        self.0 = None;
    }
}

/// Loads OpenCL from a file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 gives it so")]
fn load_opencl(file: std::path::PathBuf) -> PyResult<()> {
    // SAFETY: 1. The test has OpenCL's loader there.
    Ok(unsafe { OpenCl::load(&file) }?)
}

/// The number of devices.
#[pyfunction]
fn cl_devices() -> PyResult<usize> {
    Ok(OpenCl::device_count()?)
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<EnteredCl>()?;
    python::class::<InClBuffer>().importable().backends::<(Cpu, OpenCl)>().add(m)?;
    m.add_function(wrap_pyfunction!(load_opencl, m)?)?;
    m.add_function(wrap_pyfunction!(cl_devices, m)?)
}
