use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, python};
use pyo3::prelude::*;

#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<Image>().picklable().importable().add(m)
}

fn main() {}
