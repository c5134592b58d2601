//! The extension module `cuda_kernel`: a kernel for CUDA as a function of arrays of PyTorch, CuPy, JAX
//! and every other library that exports DLPack. It runs on the caller's stream, and the host does not
//! wait.

#![cfg(target_os = "linux")]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]

mod kernel;

use dlpack_traits::backend::{Cuda, DeviceBuffer};
use dlpack_traits::python::{IntoPython, PyDeviceTensor, PyLike};
use dlpack_traits::{DLPackExport, DataType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Memory of a GPU that Rust has allocated.
#[derive(DLPackExport)]
struct OnGpu {
    data: DeviceBuffer<Cuda>,
    shape: [usize; 1],
}

/// `axpy(a: float, x: float32[n], y: float32[n]) -> float32[n]`
///
/// Returns `a * x + y`, computed on the stream of `x`, as an array of its library. `y` may be on
/// another stream.
#[pyfunction]
fn axpy<'py>(
    py: Python<'py>,
    a: f32,
    x: PyDeviceTensor<'py, Cuda, f32, 1>,
    y: PyDeviceTensor<'py, Cuda, f32, 1>,
) -> PyResult<PyLike<'py>> {
    if x.dims() != y.dims() || x.device() != y.device() {
        return Err(PyValueError::new_err("expected two arrays of one length on one GPU"));
    }
    if !x.is_row_major() || !y.is_row_major() {
        return Err(PyValueError::new_err("expected contiguous arrays"));
    }
    let (shape, stream) = (x.dims(), x.stream());
    let data = DeviceBuffer::zeroed_on(stream.clone(), DataType::F32, shape[0])?;
    if shape[0] > 0 {
        // `stream` waits for `y`, if that is ready on another one.
        let [x, y] = [x.as_ptr_on(stream)?, y.as_ptr_on(stream)?];
        let [out, x, y] = [data.place(), x, y].map(|place| place.address().addr());
        // SAFETY: 1. All have `shape[0]` elements of the GPU of the stream, are ready on it, and are
        // freed after its work.
        unsafe { kernel::axpy(stream, [out, x, y], a, shape[0]) }?;
    }
    OnGpu { data, shape }.into_object_like(py, &x)
}

/// Kernels for CUDA.
#[pymodule]
mod cuda_kernel {
    #[pymodule_export]
    use super::axpy;
}
