use dlpack_traits::OwnedTensor;
use dlpack_traits::python::{IntoPython, PyLike, PyTensor};
use pyo3::prelude::*;

pub fn like<'py>(
    py: Python<'py>,
    x: &Option<PyTensor<'py, f32>>,
) -> PyResult<PyLike<'py>> {
    OwnedTensor::from_vec(vec![1.0_f32]).into_object_like(py, x)
}

fn main() {}
