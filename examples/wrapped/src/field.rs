//! `ndarray`: its arrays implement `DLPackExport`, in any order and with any strides.

use dlpack_traits::DLPackExport;
use ndarray::{ArcArray, Array, Ix2, s};
use pyo3::prelude::*;

/// Heights on a grid.
#[pyclass(frozen, module = "dlpack_wrapped")]
#[derive(DLPackExport)]
#[dlpack(transparent)]
pub(crate) struct Field(ArcArray<f64, Ix2>);

#[pymethods]
impl Field {
    /// A hill on a grid of so many rows and columns.
    #[new]
    fn new(rows: usize, columns: usize) -> Self {
        let center = |index: usize, len: usize| (index as f64 + 0.5) / len as f64 - 0.5;
        let height = |(row, column)| {
            (-8.0 * (center(row, rows).powi(2) + center(column, columns).powi(2))).exp()
        };
        Self(Array::from_shape_fn((rows, columns), height).into_shared())
    }

    /// Every other row in reverse order: other strides over the same memory.
    fn every_other_row(&self) -> Self {
        Self(self.0.clone().slice_move(s![..;-2, ..]))
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.0.as_ptr().addr()
    }
}
