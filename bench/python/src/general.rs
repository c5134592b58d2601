//! A tensor of any dtype, rank and layout in its own memory, which each export shares by a packet of
//! its own. The `Tensor` of `examples/python` has such a struct in an `ExportArc`.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, SharedBuffer, Storage};
use pyo3::prelude::*;

#[pyclass(frozen)]
#[derive(DLPackExport)]
pub(crate) struct General {
    data: Bytes,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

/// Bytes that all owners may write, or no one.
#[derive(Storage)]
enum Bytes {
    Shared(SharedBuffer<u8>),
    #[expect(dead_code, reason = "the branch that an export has to take or not")]
    Frozen(Arc<[u8]>),
}

#[pymethods]
impl General {
    /// Zeros of type `f32`.
    #[new]
    pub(crate) fn new(shape: Vec<i64>) -> PyResult<Self> {
        let mut strides = vec![0; shape.len()];
        dlpack_traits::strides::row_major_strides(&shape, &mut strides);
        let bytes = usize::try_from(shape.iter().product::<i64>() * 4)?;
        let data = Bytes::Shared(SharedBuffer::zeroed(bytes)?);
        Ok(Self { data, dtype: DataType::F32, shape, strides, byte_offset: 0 })
    }
}
