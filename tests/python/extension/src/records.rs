//! Classes of records: memory that all owners write, read-only memory, and memory that Python passed.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use std::sync::Arc;

use dlpack_traits::python::{IntoPython, PyLike, PyRecords, PyTensorMut, PyTensors};
use dlpack_traits::{
    Complex, DLPackExport, DLPackImport, Describe, Description, Error, FieldTensor,
    ImportedStorage, Record, Records, SharedBuffer, Storage, python,
};
use pyo3::prelude::*;

/// A record in a record.
#[derive(Clone, Copy, Record)]
#[dlpack(any_bits)]
#[repr(C)]
pub(crate) struct Inner {
    #[dlpack(skip)]
    reserved: u16,
    level: i16,
}

/// Every kind of field. The names are keywords of Rust or not ASCII.
#[derive(Clone, Copy, Record)]
#[dlpack(any_bits)]
#[repr(C)]
pub(crate) struct Event {
    r#type: i64,
    matrix: [[f32; 2]; 3],
    inner: [Inner; 2],
    größe: Complex<f64>,
    flags: u8,
    #[dlpack(skip)]
    padding: [u8; 7],
}

impl Event {
    fn numbered(number: u8) -> Self {
        let value = f32::from(number);
        Self {
            r#type: -i64::from(number) - (1 << 40),
            matrix: [[value, value + 0.5]; 3],
            inner: [
                Inner { reserved: 0, level: i16::from(number) },
                Inner { reserved: 0, level: -1 },
            ],
            größe: Complex { re: f64::from(number), im: -1.0 },
            flags: number,
            padding: [0; 7],
        }
    }

    fn list(count: u8) -> Vec<Self> {
        (0..count).map(Self::numbered).collect()
    }
}

/// Defines a class over a storage of events.
macro_rules! events {
    ($class:ident($storage:ty) = $make:expr, { $($method:item)* }) => {
        #[pyclass(frozen, weakref)]
        #[derive(DLPackExport)]
        pub(crate) struct $class {
            data: $storage,
            shape: Vec<usize>,
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new(shape: Vec<usize>) -> PyResult<Self> {
                let count = shape.iter().product::<usize>();
                let make: fn(Vec<Event>) -> PyResult<$storage> = $make;
                Ok(Self { data: make(Event::list(u8::try_from(count)?))?, shape })
            }

            $($method)*
        }
    };
}

events!(SharedEvents(SharedBuffer<Event>) = |list| Ok(SharedBuffer::from(list)), {});
events!(OwnedEvents(Vec<Event>) = Ok, {});
events!(FrozenEvents(Arc<[Event]>) = |list| Ok(Arc::from(list)), {
    /// The flags, of the library of `like`.
    fn flags<'py>(&self, py: Python<'py>, like: &Bound<'py, PyAny>) -> PyResult<PyLike<'py>> {
        self.data.field(Event::FLAGS).into_object_like(py, like)
    }

    /// The records in each record, which no library but NumPy has.
    fn inner(&self) -> FieldTensor<Arc<[Event]>, [Inner; 2]> {
        self.data.field(Event::INNER)
    }
});

/// Events in memory of Python.
#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct KeptEvents {
    data: ImportedStorage<Event>,
    shape: Vec<i64>,
}

#[pymethods]
impl KeptEvents {
    #[new]
    fn new(events: PyRecords<'_, Event>) -> PyResult<Self> {
        let shape = events.shape().iter().take(1).copied().collect();
        Ok(Self { data: ImportedStorage::new(events)?, shape })
    }
}

/// The flags of events. The storage is that of the events.
#[pyclass(frozen)]
pub(crate) struct Flags(FieldTensor<Arc<[Event]>, u8>, Arc<[Event]>);

impl DLPackExport for Flags {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.0.describe(out)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.1)
    }
}

#[pymethods]
impl Flags {
    #[new]
    fn new(count: u8) -> Self {
        let events: Arc<[Event]> = Arc::from(Event::list(count));
        Self(events.field(Event::FLAGS), events)
    }
}

/// The levels of all inner records, in the order of the array.
#[pyfunction]
fn levels(events: PyRecords<'_, Event>) -> Vec<(i16, i16)> {
    events.elements().iter().map(|event| (event.inner[0].level, event.inner[1].level)).collect()
}

/// Adds to the type of each event of a grid, and returns the array.
#[pyfunction]
fn shift(mut events: PyTensorMut<'_, Event, 2>, by: i64) -> PyTensorMut<'_, Event, 2> {
    events.elements_mut().map_in_place(|event| Event { r#type: event.r#type + by, ..event });
    events
}

/// The number of events in several arrays.
#[pyfunction]
fn count_events(events: PyTensors<'_, Event, 1>) -> usize {
    events.iter().map(|events| events.dims()[0]).sum()
}

/// Zeros, of the library of an argument.
#[pyfunction]
fn no_events<'py>(
    py: Python<'py>,
    like: &Bound<'py, PyAny>,
    count: usize,
) -> PyResult<python::PyOutput<'py, Event>> {
    python::allocate_output(py, like, &[count])
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<SharedEvents>().array_like().add(m)?;
    python::class::<FrozenEvents>().buffer_protocol().add(m)?;
    python::add_class::<OwnedEvents>(m)?;
    python::class::<Flags>().buffer_protocol().add(m)?;
    python::class::<KeptEvents>().importable().picklable().array_like().add(m)?;
    m.add_function(wrap_pyfunction!(levels, m)?)?;
    m.add_function(wrap_pyfunction!(shift, m)?)?;
    m.add_function(wrap_pyfunction!(no_events, m)?)?;
    m.add_function(wrap_pyfunction!(count_events, m)?)
}
