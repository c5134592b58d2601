//! Tensors on the accelerator of `examples/new-device`, as a Python class, and another
//! library that uses it.

use dlpack_traits::backend::{Backend as _, Cpu, DeviceBuffer, MemoryRef, Prototype, WorkStream};
use dlpack_traits::ffi::kDLExtDev;
use dlpack_traits::python::PyDeviceTensor;
use dlpack_traits::{DLPackExport, DLPackImport, DataType, Device, Dims, ImportedStorage, python};
use new_device::Npu;
use new_device::consumer::Consumer;
use new_device::runtime::{self, Address, Event, Stream};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::capsule::Taken;

const NPU: Device = Device::new(kDLExtDev, 0);

/// A stream waits for it until Python opens it.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Gate(Event);

#[pymethods]
impl Gate {
    #[new]
    fn new() -> Self {
        Self(Event::of_host())
    }

    fn open(&self) {
        self.0.set();
    }

    /// Opens the gate some time later, on a thread without a Python thread state.
    fn open_later(&self) {
        let gate = self.0.clone();
        std::thread::spawn(move || {
            std::thread::sleep(core::time::Duration::from_millis(20));
            gate.set();
        });
    }
}

/// `float32`s on the accelerator, filled by a kernel on a stream of their own.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct OnNpu {
    data: DeviceBuffer<Npu>,
    shape: Vec<usize>,
}

/// `float32`s on the accelerator that another library made.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct KeptOnNpu {
    data: DeviceBuffer<Npu>,
    shape: Vec<usize>,
}

#[pymethods]
impl KeptOnNpu {
    /// The argument, with the stream on which it is ready.
    #[new]
    fn new(x: PyDeviceTensor<'_, Npu, f32, 1>) -> PyResult<Self> {
        Ok(Self { shape: x.dims().to_vec(), data: x.into_buffer()? })
    }

    /// The elements, copied by a thread that is attached to the interpreter.
    fn to_list(&self) -> PyResult<Vec<f32>> {
        Ok(self.data.to_vec()?)
    }

    /// The handle of that stream.
    #[getter]
    fn stream(&self) -> usize {
        self.data.stream().handle().number()
    }
}

/// The same without a backend.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct StoredOnNpu {
    data: ImportedStorage,
    shape: Vec<usize>,
}

/// The first element of an argument, copied by work on its stream.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]
fn first_on_npu(py: Python<'_>, x: PyDeviceTensor<'_, Npu, f32, 1>) -> PyResult<f32> {
    let (from, stream) = (x.as_ptr_on(x.stream())?, x.stream());
    let mut first = [0.0_f32];
    let to = MemoryRef { device: Device::CPU, data: first.as_mut_ptr().cast(), byte_offset: 0 };
    // SAFETY: 1. The argument has an element, and so has the variable, until the wait ends.
    unsafe { Npu::copy(stream, from, to, 4) }?;
    let stream = stream.clone();
    py.detach(|| stream.synchronize())?;
    Ok(first[0])
}

fn stream() -> PyResult<WorkStream<Npu>> {
    let stream = Stream::new(0).map_err(failed)?;
    Ok(runtime::with_stream(&stream, || WorkStream::current(NPU))?)
}

fn failed(code: runtime::Code) -> PyErr {
    PyRuntimeError::new_err(format!("the device says {}", code.0))
}

#[pymethods]
impl OnNpu {
    /// Elements that become `value` when the gate is opened.
    #[new]
    fn new(shape: Vec<usize>, value: f32, gate: &Gate) -> PyResult<Self> {
        let stream = stream()?;
        stream.stream().wait(&gate.0);
        let data = DeviceBuffer::zeroed_on(stream, DataType::F32, shape.iter().product())?;
        let address = Address::from_ptr(data.as_ptr());
        data.stream().stream().fill(address, 0..data.byte_len(), value);
        Ok(Self { data, shape })
    }

    /// The handle of the memory.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.as_ptr().addr()
    }

    /// The handle of the stream.
    #[getter]
    fn stream(&self) -> usize {
        self.data.stream().handle().number()
    }
}

/// Another library on the accelerator, with a stream of its own.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct NpuConsumer(Consumer);

#[pymethods]
impl NpuConsumer {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self(Consumer::new(stream()?)?))
    }

    #[getter]
    fn stream(&self) -> usize {
        self.0.stream().handle().number()
    }

    /// The protocol of stream objects of the accelerator.
    fn __npu_stream__(&self) -> (u8, usize) {
        (0, self.stream())
    }

    /// Enqueues the sum of a tensor that was exported for the stream, and releases it.
    fn enqueue_sum(&self, tensor: &Taken) -> PyResult<()> {
        let managed = tensor.give()?;
        // SAFETY: 1. The test requested this stream, and the tensor has no other owner.
        Ok(unsafe { self.0.sum(managed) }?)
    }

    /// Waits for the sum.
    fn result(&self) -> PyResult<f32> {
        self.0.result().map_err(failed)
    }
}

/// The location of memory that a class allocates on the accelerator: the handle and the offset of the
/// first element, and the handle of the stream for work on it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]
fn allocated_on_npu(class: &Bound<'_, PyType>, shape: Vec<i64>) -> PyResult<(usize, u64, usize)> {
    let prototype = Prototype::new(DataType::F32, Dims::borrowed(&shape), NPU)?;
    let mut made = python::allocate(class, &prototype)?;
    let MemoryRef { data, byte_offset, .. } = made.as_mut_ptr();
    Ok((data.addr(), byte_offset, made.stream::<Npu>()?.handle().number()))
}

/// Returns the handle of the stream on which this thread works.
#[pyfunction]
fn current_npu_stream() -> PyResult<usize> {
    Ok(WorkStream::<Npu>::current(NPU)?.handle().number())
}

/// Returns the handle of a stream that was closed.
#[pyfunction]
fn closed_npu_stream() -> PyResult<usize> {
    Ok(stream()?.handle().number())
}

/// How many streams have work, or may get some. One is the device's own.
#[pyfunction]
fn npu_streams() -> usize {
    runtime::streams_at_work()
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<OnNpu>().backends::<(Cpu, Npu)>().add(m)?;
    python::class::<KeptOnNpu>().backends::<(Cpu, Npu)>().importable().add(m)?;
    python::class::<StoredOnNpu>().backends::<(Cpu, Npu)>().importable().add(m)?;
    m.add_function(wrap_pyfunction!(first_on_npu, m)?)?;
    m.add_class::<Gate>()?;
    m.add_class::<NpuConsumer>()?;
    m.add_function(wrap_pyfunction!(npu_streams, m)?)?;
    m.add_function(wrap_pyfunction!(allocated_on_npu, m)?)?;
    m.add_function(wrap_pyfunction!(current_npu_stream, m)?)?;
    m.add_function(wrap_pyfunction!(closed_npu_stream, m)?)
}
