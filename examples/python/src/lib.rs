//! The extension module `dlpack_example`: Rust tensors that NumPy, PyTorch, JAX and
//! others use zero-copy.
//!
//! Each class is an ordinary struct. Two lines make it a producer of tensors:
//! the derive, and the registration below. `Tensor` is a consumer too.
#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

mod bytes;
mod canvas;
mod foreign;
mod minifloat;
mod own;
mod photograph;
mod tensor;
mod value;

use dlpack_traits::python;
use pyo3::prelude::*;

/// Rust tensors for NumPy, PyTorch, JAX and others, without a copy.
#[pymodule]
fn dlpack_example(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<photograph::Image>(m)?;
    python::add_class::<canvas::Canvas>(m)?;
    python::class::<tensor::Tensor>().importable().add(m)?;
    m.add_function(wrap_pyfunction!(tensor::from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(photograph::freed, m)?)
}
