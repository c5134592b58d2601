//! Functions that read and write arrays on the threads of rayon.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

use dlpack_traits::python::{PyTensor, PyTensorMut, PyTensors};
use pyo3::prelude::*;
use rayon::prelude::*;

/// The sum of each array. The threads of the pool drop the arrays, while this thread is detached or
/// not.
#[pyfunction]
fn sums(py: Python<'_>, arrays: Vec<PyTensor<'_, f32>>, detached: bool) -> Vec<f32> {
    let sums = || arrays.into_par_iter().map(|x| x.elements().iter().sum()).collect();
    if detached { py.detach(sums) } else { sums() }
}

/// The same of a list that this thread drops.
#[pyfunction]
fn borrowed_sums(py: Python<'_>, arrays: PyTensors<'_, f32>) -> Vec<f32> {
    py.detach(|| arrays.par_iter().map(|x| x.elements().iter().sum()).collect())
}

/// The sum of each row of one array.
#[pyfunction]
fn row_sums(py: Python<'_>, x: PyTensor<'_, f32>) -> PyResult<Vec<f32>> {
    Ok(py.detach(|| x.elements().par_rows(|row| row.iter().sum::<f32>()))?)
}

/// The square root of each element.
#[pyfunction]
fn roots(py: Python<'_>, mut x: PyTensorMut<'_, f32>) {
    py.detach(|| x.elements_mut().par_map_in_place(f32::sqrt));
}

/// Subtracts the first element of each row from the row.
#[pyfunction]
fn from_first(py: Python<'_>, mut x: PyTensorMut<'_, f32>) -> PyResult<()> {
    py.detach(|| {
        let mut elements = x.elements_mut();
        let parts: Vec<_> = elements.split_rows(rayon::current_num_threads()).collect();
        parts.into_par_iter().try_for_each(|mut part| {
            Ok(part.elements_mut().update_rows(|row| {
                let first = row.first().copied().unwrap_or(0.0);
                for value in row {
                    *value -= first;
                }
            })?)
        })
    })
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let pool = PyModule::new(m.py(), "pool")?;
    pool.add_function(wrap_pyfunction!(sums, m)?)?;
    pool.add_function(wrap_pyfunction!(borrowed_sums, m)?)?;
    pool.add_function(wrap_pyfunction!(row_sums, m)?)?;
    pool.add_function(wrap_pyfunction!(roots, m)?)?;
    pool.add_function(wrap_pyfunction!(from_first, m)?)?;
    m.add_submodule(&pool)
}
