//! Classes as users write them: a derive, and one line that adds them.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, SharedBuffer, python};
use pyo3::prelude::*;

use crate::general::General;

/// The class of the rows: frozen, over shared memory that is never written. It recycles no
/// allocations.
#[pyclass(frozen)]
#[derive(DLPackExport)]
struct Frozen {
    data: Arc<[f32]>,
    shape: [usize; 3],
}

#[pymethods]
impl Frozen {
    #[new]
    fn new(shape: [usize; 3]) -> Self {
        Self { data: vec![1.0; shape.iter().product()].into(), shape }
    }
}

/// The same over memory that every consumer may write, so that the legacy capsule can
/// express it.
#[pyclass(frozen)]
#[derive(DLPackExport)]
struct Shared {
    data: SharedBuffer<f32>,
    shape: [usize; 3],
}

#[pymethods]
impl Shared {
    #[new]
    fn new(shape: [usize; 3]) -> PyResult<Self> {
        Ok(Self { data: SharedBuffer::zeroed(shape.iter().product())?, shape })
    }
}

/// The same, not frozen: each export checks whether the object is mutably borrowed.
#[pyclass]
#[derive(DLPackExport)]
struct Mutable {
    data: SharedBuffer<f32>,
    shape: [usize; 3],
}

#[pymethods]
impl Mutable {
    #[new]
    fn new(shape: [usize; 3]) -> PyResult<Self> {
        Ok(Self { data: SharedBuffer::zeroed(shape.iter().product())?, shape })
    }
}

/// A class that is constructed from other libraries' tensors.
#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
struct Taken {
    data: ImportedStorage<f32>,
    shape: [usize; 3],
}

/// A matrix in Fortran order, so that a row-major copy transposes it.
#[pyclass(frozen)]
#[derive(DLPackExport)]
struct Transposed {
    data: Arc<[f32]>,
    shape: [usize; 2],
    strides: [isize; 2],
}

#[pymethods]
impl Transposed {
    #[new]
    fn new(stored: [usize; 2]) -> Self {
        let [rows, columns] = stored;
        Self {
            data: vec![1.0; rows * columns].into(),
            shape: [columns, rows],
            strides: [1, columns.cast_signed()],
        }
    }
}

/// Every second column of a matrix.
#[pyclass(frozen)]
#[derive(DLPackExport)]
struct Sliced {
    data: Arc<[f32]>,
    shape: [usize; 2],
    strides: [isize; 2],
}

#[pymethods]
impl Sliced {
    #[new]
    fn new(shape: [usize; 2]) -> Self {
        let [rows, columns] = shape;
        Self {
            data: vec![1.0; rows * columns * 2].into(),
            shape,
            strides: [(2 * columns).cast_signed(), 2],
        }
    }
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<Frozen>(module)?;
    python::add_class::<General>(module)?;
    python::add_class::<Shared>(module)?;
    python::add_class::<Mutable>(module)?;
    python::class::<Taken>().importable().add(module)?;
    python::add_class::<Transposed>(module)?;
    python::add_class::<Sliced>(module)
}
