//! The ways in which a class can own its memory, with counted drops.

use dlpack_traits::{DLPackExport, DataType, SharedBuffer, Storage};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counted::{Counted, Several};

/// A storage that is made from numbers, and read back.
trait Floats: Sized {
    fn from_values(values: Vec<f32>) -> PyResult<Self>;
    fn to_values(&self) -> Vec<f32>;
}

impl Floats for Several<Vec<f32>> {
    fn from_values(values: Vec<f32>) -> PyResult<Self> {
        Ok(Self::new(values))
    }

    fn to_values(&self) -> Vec<f32> {
        self.get().clone()
    }
}

impl Floats for Several<SharedBuffer<f32>> {
    fn from_values(values: Vec<f32>) -> PyResult<Self> {
        Ok(Self::new(SharedBuffer::from_slice(&values)?))
    }

    fn to_values(&self) -> Vec<f32> {
        self.get().to_vec()
    }
}

impl Floats for Counted<Vec<f32>> {
    fn from_values(values: Vec<f32>) -> PyResult<Self> {
        Ok(Self::new(values))
    }

    fn to_values(&self) -> Vec<f32> {
        self.get().clone()
    }
}

/// Defines the constructor and the attributes of a class of `float32`s.
macro_rules! floats {
    ($class:ident $($method:item)*) => {
        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (values, shape=None))]
            fn new(values: Vec<f32>, shape: Option<Vec<i64>>) -> PyResult<Self> {
                let shape = shape.unwrap_or_else(|| vec![values.len().try_into().unwrap_or(0)]);
                Ok(Self { data: Floats::from_values(values)?, shape })
            }

            /// Address of the first element.
            #[getter]
            fn data_ptr(&self) -> usize {
                self.data.data().as_ptr().addr()
            }

            /// All elements as Rust reads them, in a flat list.
            fn values(&self) -> Vec<f32> {
                self.data.to_values()
            }

            $($method)*
        }
    };
}

/// Frozen memory with several owners: exports are read-only and need no Python.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Frozen {
    data: Several<Vec<f32>>,
    shape: Vec<i64>,
}

floats! { Frozen }

/// Memory that is shared and writable: its exports are writable and need no Python.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Writable {
    data: Several<SharedBuffer<f32>>,
    shape: Vec<i64>,
}

floats! {
    Writable

    /// Writes one element.
    fn store(&self, index: usize, value: f32) {
        self.data.get().store(index, value);
    }
}

/// Memory with a single owner in a frozen class: exports hold the object.
#[pyclass(frozen, subclass, weakref, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Single {
    data: Counted<Vec<f32>>,
    shape: Vec<i64>,
}

floats! { Single }

/// Memory with a single owner that a method reallocates: exports hold the
/// object, borrowed.
#[pyclass(subclass, weakref, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Growing {
    data: Counted<Vec<f32>>,
    #[dlpack(shape)]
    extents: Vec<i64>,
}

#[pymethods]
impl Growing {
    #[new]
    fn new(values: Vec<f32>) -> Self {
        let extents = vec![values.len().try_into().unwrap_or(0)];
        Self { data: Counted::new(values), extents }
    }

    /// Adds an element, which moves all others.
    fn push(&mut self, value: f32) {
        let values = self.data.get_mut();
        values.push(value);
        *values = values.clone();
        self.extents = vec![values.len().try_into().unwrap_or(0)];
    }

    /// Address of the first element.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.get().as_ptr().addr()
    }

    /// All elements, in a flat list.
    fn values(&self) -> Vec<f32> {
        self.data.get().clone()
    }

    /// Calls something while the object is borrowed for writing.
    #[expect(clippy::unused_self, reason = "the method exists for its borrow")]
    fn while_borrowed(&mut self, callable: &Bound<'_, PyAny>) -> PyResult<()> {
        callable.call0().map(drop)
    }
}

/// Zeros of any element type in any layout: writable, and with the obstacles for
/// consumers that its constructor selects.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Zeros {
    data: Several<SharedBuffer<u8>>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

#[pymethods]
impl Zeros {
    #[new]
    #[pyo3(signature = (byte_len, dtype, shape, strides, byte_offset=0))]
    fn new(
        byte_len: usize,
        dtype: &str,
        shape: Vec<i64>,
        strides: Vec<i64>,
        byte_offset: usize,
    ) -> PyResult<Self> {
        let dtype = DataType::from_name(dtype)
            .ok_or_else(|| PyValueError::new_err("no such element type"))?;
        let data = Several::new(SharedBuffer::zeroed(byte_len)?);
        Ok(Self { data, dtype, shape, strides, byte_offset })
    }
}
