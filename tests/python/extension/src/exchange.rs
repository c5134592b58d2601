//! Classes whose exchange table has more functions than the default one.

use dlpack_traits::backend::Cpu;
use dlpack_traits::exchange::{self, NotImportable};
use dlpack_traits::python::{self, PyHost};
use dlpack_traits::{DLPackExport, DLPackImport, ImportError, ImportedStorage, ImportedTensor};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::counted::Several;

/// Read-only memory that may be borrowed without saying so, under two names.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Viewed {
    data: Several<Vec<f32>>,
    shape: [usize; 2],
}

#[pymethods]
impl Viewed {
    #[new]
    fn new(values: Vec<f32>) -> Self {
        let shape = [1, values.len()];
        Self { data: Several::new(values), shape }
    }
}

/// The object that is made from a tensor: of one dimension only.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Received {
    data: ImportedStorage<f32>,
    shape: [i64; 1],
}

impl DLPackImport for Received {
    fn from_dlpack(tensor: ImportedTensor) -> Result<Self, ImportError> {
        match *tensor.shape() {
            [13] => panic!("from_dlpack() panics on purpose"),
            [len] => Ok(Self { data: ImportedStorage::new(tensor)?, shape: [len] }),
            _ => Err(ImportError::rejected("it takes one dimension")),
        }
    }
}

#[pymethods]
impl Received {
    /// All elements, in a flat list.
    fn values(&self) -> PyResult<Vec<f32>> {
        let tensor = self.data.imported();
        Ok(tensor.elements::<f32>()?.to_vec()?)
    }
}

/// Adds the classes, and the function.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let viewed = python::class::<Viewed>().old_table_name();
    // SAFETY: 1. The tests only read.
    unsafe { viewed.read_only_views() }.add(m)?;
    python::class::<Received>().importable().add(m)?;
    m.add_function(wrap_pyfunction!(publish_on, m)?)
}

/// Puts the table of [`Viewed`] on a type that PyO3 did not make.
#[pyfunction]
pub(crate) fn publish_on(class: &Bound<'_, PyType>) -> PyResult<()> {
    let table = exchange::table::<Viewed, PyHost, Cpu, NotImportable>();
    // SAFETY: 1. Python's host checks the class of an object.
    unsafe { python::publish(class, table) }
}
