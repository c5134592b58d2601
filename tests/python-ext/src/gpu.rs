//! Tensors on an NVIDIA GPU, for `tests/gpu/evidence.py`.

use core::ffi::c_void;

use dlpack_traits::backend::{
    self, Backends, Cpu, Cuda, DeviceBuffer, Entered, StreamHandle, WorkStream,
};
use dlpack_traits::ffi::DLDeviceType;
use dlpack_traits::{
    DLPackExport, DLPackImport, DataType, Device, Error, Foreign, ImportError, Imported,
    SharedOwner, Storage, StreamArg, TensorView, python,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Zeros, `float32`, for work on a stream of the script's.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct OnCuda {
    data: DeviceBuffer<Cuda>,
    shape: Vec<usize>,
}

#[pymethods]
impl OnCuda {
    /// `kind` is the number of a device type: GPU, pinned or managed memory.
    #[new]
    #[pyo3(signature = (len, stream=0, kind=2))]
    fn new(len: usize, stream: usize, kind: i32) -> PyResult<Self> {
        let device = Device::new(DLDeviceType(kind), 0);
        // SAFETY: 1. The script keeps its streams.
        let stream = unsafe { WorkStream::borrow(device, StreamHandle::from_number(stream)) }?;
        let data = DeviceBuffer::zeroed_on(stream, DataType::F32, len)?;
        Ok(Self { data, shape: vec![len] })
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.as_ptr().addr()
    }

    /// The elements, after the work on the stream.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<f32>> {
        Ok(py.detach(|| self.data.to_vec())?)
    }
}

/// A tensor of somebody else's on a GPU, which can be handed on for any stream.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct FromCuda(Foreign);

impl DLPackExport for FromCuda {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        DLPackExport::tensor(&self.0)
    }

    fn hand_off(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // It was imported for the default stream.
        let ours = WorkStream::<Cuda>::current(self.0.tensor().device())?;
        backend::hand_off(&ours, consumer)
    }

    fn share(&self) -> Option<SharedOwner> {
        Storage::share(&self.0)
    }
}

impl DLPackImport for FromCuda {
    fn from_dlpack(tensor: Imported) -> Result<Self, ImportError> {
        Ok(Self(Foreign::new(tensor)?))
    }
}

#[pymethods]
impl FromCuda {
    #[getter]
    fn data_ptr(&self) -> usize {
        self.0.tensor().as_ptr().addr()
    }
}

/// This thread works on a stream of the script's, until it leaves.
#[pyclass(unsendable, module = "dlpack_testing")]
pub(crate) struct EnteredCuda(Option<Entered>);

#[pymethods]
impl EnteredCuda {
    #[new]
    fn new(stream: usize) -> PyResult<Self> {
        let handle = StreamHandle::from_number(stream);
        // SAFETY: 1. The script keeps its streams.
        Ok(Self(Some(unsafe { Cuda::enter_stream(Device::cuda(0), handle) }?)))
    }

    fn leave(&mut self) {
        self.0 = None;
    }
}

/// Whose memory an address is: device type, index, and whether the host reads it.
#[pyfunction]
fn cuda_attributes(address: usize) -> PyResult<(i32, i32, bool)> {
    let data = core::ptr::without_provenance::<c_void>(address);
    let known = <(Cpu, Cuda)>::attributes(data, Device::cuda(0))?;
    let device = known.device;
    Ok((device.device_type().0, device.device_id(), known.host_accessible))
}

/// The stream that the exchange table of our classes names.
#[pyfunction]
fn cuda_work_stream() -> PyResult<usize> {
    Ok(<(Cpu, Cuda)>::current_work_stream(Device::cuda(0))?.addr())
}

/// How many GPUs there are.
#[pyfunction]
fn cuda_devices() -> PyResult<usize> {
    Cuda::device_count().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<OnCuda>().backends::<(Cpu, Cuda)>().add(m)?;
    python::class::<FromCuda>().importable().backends::<(Cpu, Cuda)>().add(m)?;
    m.add_class::<EnteredCuda>()?;
    m.add_function(wrap_pyfunction!(cuda_attributes, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_work_stream, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_devices, m)?)
}
