//! Messages of rustc, which `docs/reference.md` explains.

use dlpack_traits::DLPackExport;
use dlpack_traits::python::PyTensor;
use pyo3::prelude::*;

#[derive(DLPackExport)]
pub struct Volume<T> {
    data: Vec<T>,
    shape: [usize; 3],
}

pub fn generic_without_bound<T: Send + 'static>(volume: Volume<T>) {
    let _ = volume.into_dlpack();
}

pub fn elements_without_type(x: &PyTensor<'_>) -> usize {
    x.elements().to_vec().len()
}

pub fn function_of_rows(x: &PyTensor<'_, f32, 2>) -> PyResult<()> {
    x.elements().for_each_row(|row| check(row))?;
    Ok(())
}

pub fn check(row: &[f32]) -> PyResult<()> {
    drop(row.len());
    Ok(())
}

fn main() {}
