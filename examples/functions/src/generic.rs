//! A tensor of several dtypes, any rank and any layout, as frameworks such as candle have it.

use dlpack_traits::python::{IntoPython, PyLike, PyTensor};
use dlpack_traits::{DLPackExport, DataType, SharedBuffer, Storage};
use pyo3::prelude::*;

#[derive(Storage)]
enum CpuStorage {
    F32(SharedBuffer<f32>),
    F64(SharedBuffer<f64>),
    I64(SharedBuffer<i64>),
}

#[derive(DLPackExport)]
struct Tensor {
    #[dlpack(data)]
    storage: CpuStorage,
    shape: Vec<i64>,
    /// In elements.
    strides: Vec<i64>,
}

impl Tensor {
    /// A contiguous copy of an argument in any layout.
    fn copied(py: Python<'_>, array: &PyTensor<'_>) -> PyResult<Self> {
        let storage = match array.dtype() {
            DataType::F32 => CpuStorage::F32(array.elements::<f32>()?.to_vec()?.into()),
            DataType::F64 => CpuStorage::F64(array.elements::<f64>()?.to_vec()?.into()),
            DataType::I64 => CpuStorage::I64(array.elements::<i64>()?.to_vec()?.into()),
            _ => {
                let accepted = [DataType::F32, DataType::F64, DataType::I64];
                return Err(array.dtype_error(py, "array", &accepted));
            }
        };
        let shape = array.shape().to_vec();
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1);
        }
        Ok(Self { storage, shape, strides })
    }

    /// The same elements with the axes reversed: only shape and strides change.
    fn transposed(mut self) -> Self {
        self.shape.reverse();
        self.strides.reverse();
        self
    }
}

/// `transposed(array: float32[...] | float64[...] | int64[...]) -> an array of the same dtype`
///
/// Returns a copy of an array with its axes reversed, in an array of the caller's library. The
/// result is a strided view of memory that Rust owns.
#[pyfunction]
pub(crate) fn transposed<'py>(py: Python<'py>, array: PyTensor<'py>) -> PyResult<PyLike<'py>> {
    Tensor::copied(py, &array)?.transposed().into_object_like(py, &array)
}
