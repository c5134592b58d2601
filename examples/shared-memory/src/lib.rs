//! Frames of another process as tensors, zero-copy in its memory.

mod elements;
mod service;

use std::error::Error;
use std::sync::{Arc, Mutex};

use dlpack_traits::{DLPackExport, Storage};
use iceoryx2::node::Node;
use iceoryx2::port::subscriber::Subscriber as Port;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use elements::Elements;
use service::{BORROWED, Header, Ipc, SharedByte};

/// A frame of the publisher. The publisher reuses its memory after the frame and all arrays and
/// tensors of it are deleted.
#[pyclass(frozen, module = "dlpack_frames")]
#[derive(DLPackExport)]
#[dlpack(shape(rows, columns), skip(number, address))]
struct Frame {
    #[dlpack(data)]
    elements: Arc<Elements>,
    rows: u64,
    columns: u64,
    #[pyo3(get)]
    number: u64,
    /// The address of the elements in the publisher's process.
    #[pyo3(get)]
    address: u64,
}

#[pymethods]
impl Frame {
    /// The mean of the elements, read byte-wise atomically.
    fn mean(&self) -> PyResult<f64> {
        let tensor = self.to_dlpack()?.import()?;
        let elements = tensor.elements::<f32>()?;
        let mut sum = 0.0;
        elements.for_each_block(|block| sum += block.iter().copied().map(f64::from).sum::<f64>());
        Ok(sum / elements.len() as f64)
    }
}

/// The receiving end of a service.
#[pyclass(frozen, module = "dlpack_frames")]
struct Subscriber {
    port: Mutex<Port<Ipc, [SharedByte], Header>>,
    _node: Node<Ipc>,
}

#[pymethods]
impl Subscriber {
    /// Opens the service with this name, which iceoryx2 registers in this folder.
    #[new]
    fn new(folder: &str, service: &str) -> PyResult<Self> {
        let open = || -> Result<Self, Box<dyn Error>> {
            let (node, service) = service::open(folder, service)?;
            let port = Mutex::new(service.subscriber_builder().create()?);
            Ok(Self { port, _node: node })
        };
        open().map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The next frame, or `None` if the publisher has not sent one.
    ///
    /// Raises `RuntimeError` if as many frames as `MAX_FRAMES` are in use.
    fn receive(&self) -> PyResult<Option<Frame>> {
        let port = self.port.lock().map_err(|_| PyRuntimeError::new_err("a panic before"))?;
        let received = port.receive();
        let sample = received.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let Some(sample) = sample else { return Ok(None) };
        // One read: a process that writes the header afterwards does not change the frame.
        let Header { number, rows, columns, address } = *sample.user_header();
        let elements = Elements::from(sample);
        let byte_len = rows.checked_mul(columns).and_then(|count| count.checked_mul(4));
        if byte_len != Some(elements.data().byte_len() as u64) {
            return Err(PyValueError::new_err("the shape of the frame does not fit its payload"));
        }
        Ok(Some(Frame { elements: Arc::new(elements), rows, columns, number, address }))
    }
}

#[pymodule]
fn dlpack_frames(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("MAX_FRAMES", BORROWED)?;
    m.add_class::<Subscriber>()?;
    dlpack_traits::python::add_class::<Frame>(m)
}
