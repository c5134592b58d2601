use dlpack_traits::python::PyTensor;
use pyo3::prelude::*;

#[pyfunction]
pub fn rank(x: PyTensor<'_, u128>) -> usize {
    x.ndim()
}

fn main() {}
