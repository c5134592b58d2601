use std::cell::Cell;
use std::sync::Arc;

use dlpack_traits::{DLPackExport, python};
use pyo3::prelude::*;

#[pyclass(unsendable)]
#[derive(DLPackExport)]
pub struct Counting {
    data: Arc<[u8]>,
    shape: [usize; 1],
    #[dlpack(skip)]
    exports: Cell<u32>,
}

#[pyclass]
pub struct NotDerived {
    data: Arc<[u8]>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct NotPython {
    data: Arc<[u8]>,
    shape: [usize; 1],
}

pub fn counting(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<Counting>(m)
}

pub fn not_derived(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<NotDerived>(m)
}

pub fn not_python(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<NotPython>(m)
}

fn main() {}
