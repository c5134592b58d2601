//! Array-like classes: memory that all owners write, read-only memory, memory that a method
//! reallocates, memory on a device, and attributes of the class itself.

use dlpack_traits::{
    DLPackExport, DLPackImport, DataType, Describe, Description, Error, ImportedStorage,
    OwnedTensor, SharedBuffer, SharedOwner, Storage, python,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counted::{Counted, Several};

/// Defines the constructor of a class of bytes with any dtype and layout.
macro_rules! bytes {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (bytes, dtype, shape, strides=None, byte_offset=0))]
            fn new(
                bytes: Vec<u8>,
                dtype: &str,
                shape: Vec<i64>,
                strides: Option<Vec<i64>>,
                byte_offset: usize,
            ) -> PyResult<Self> {
                let dtype = DataType::from_name(dtype)
                    .ok_or_else(|| PyValueError::new_err("no such element type"))?;
                let strides = strides.unwrap_or_else(|| row_major(&shape));
                let data = Several::new(SharedBuffer::from_slice(&bytes)?);
                Ok(Self { data, dtype, shape, strides, byte_offset })
            }

            /// Address of the first byte.
            #[getter]
            fn data_ptr(&self) -> usize {
                self.data.data().as_ptr().addr()
            }

            /// All bytes, as Rust reads them.
            fn bytes(&self) -> Vec<u8> {
                self.data.get().to_vec()
            }
        }
    };
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides: Vec<i64> = shape
        .iter()
        .rev()
        .scan(1, |next, &dim| {
            let stride = *next;
            *next *= dim;
            Some(stride)
        })
        .collect();
    strides.reverse();
    strides
}

/// Memory that every owner may write.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct SharedArray {
    data: Several<SharedBuffer<u8>>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

bytes! { SharedArray }

/// Read-only memory.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
#[dlpack(read_only)]
pub(crate) struct FrozenArray {
    data: Several<SharedBuffer<u8>>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

bytes! { FrozenArray }

/// Memory that every owner may write, of a class without the buffer protocol.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct BareArray {
    data: Several<SharedBuffer<u8>>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

bytes! { BareArray }

/// The same of a class without options.
#[pyclass(frozen, subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct PlainArray {
    data: Several<SharedBuffer<u8>>,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_offset: usize,
}

bytes! { PlainArray }

/// Memory with a single owner that a method reallocates: exports hold the object, borrowed.
#[pyclass(subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct GrowingArray {
    data: Counted<Vec<f32>>,
    #[dlpack(shape)]
    extents: Vec<i64>,
}

#[pymethods]
impl GrowingArray {
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

    /// Calls something while the object is borrowed for writing.
    #[expect(clippy::unused_self, reason = "the method exists for its borrow")]
    fn while_borrowed(&mut self, callable: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        callable.call0().map(Bound::unbind)
    }
}

/// Memory that all owners write, and that a method replaces.
#[pyclass(subclass, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct ReplacedArray {
    data: Several<SharedBuffer<f32>>,
    #[dlpack(shape)]
    extents: [i64; 1],
}

#[pymethods]
impl ReplacedArray {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 makes a `Vec` of a list")]
    fn new(values: Vec<f32>) -> PyResult<Self> {
        let extents = [values.len().try_into().unwrap_or(0)];
        Ok(Self { data: Several::new(SharedBuffer::from_slice(&values)?), extents })
    }

    /// Replaces the memory by other memory.
    fn replace(&mut self, values: Vec<f32>) -> PyResult<()> {
        *self = Self::new(values)?;
        Ok(())
    }
}

/// A tensor whose storage cannot be described.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct PanickingArray;

#[pymethods]
impl PanickingArray {
    #[new]
    fn new() -> Self {
        Self
    }
}

impl DLPackExport for PanickingArray {
    fn describe<'a>(&'a self, _: Describe<'a>) -> Result<Description<'a>, Error> {
        panic!("this class panics")
    }

    fn share(&self) -> Option<SharedOwner> {
        None
    }
}

/// An array with a `shape`, `__len__`, `__repr__` and `__array__` of its own.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct OwnAttributes {
    data: Several<Vec<f32>>,
    #[dlpack(shape)]
    extents: [i64; 1],
}

#[pymethods]
impl OwnAttributes {
    #[new]
    fn new(values: Vec<f32>) -> Self {
        let extents = [values.len().try_into().unwrap_or(0)];
        Self { data: Several::new(values), extents }
    }

    #[getter]
    fn shape(&self) -> String {
        format!("its own shape {:?}", self.extents)
    }

    fn __len__(&self) -> usize {
        self.extents.len() + 6
    }

    fn __repr__(&self) -> String {
        format!("its own repr of {:?}", self.extents)
    }
}

/// Imported memory that an object passes on to other processes: no copy is made of it here.
#[pyclass(frozen, subclass)]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct Sample {
    data: ImportedStorage<f32>,
    #[dlpack(shape)]
    extents: Vec<i64>,
}

#[pymethods]
impl Sample {
    #[new]
    fn new(values: Vec<f32>) -> PyResult<Self> {
        let tensor = OwnedTensor::from_vec(values).into_dlpack()?.import()?;
        let extents = tensor.shape().to_vec();
        Ok(Self { data: ImportedStorage::new(tensor)?, extents })
    }

    /// Address of the first element.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.data.data().as_ptr().addr()
    }

    /// All elements as Rust reads them, in a flat list.
    fn values(&self) -> PyResult<Vec<f32>> {
        Ok(self.data.elements()?.to_vec()?)
    }
}

/// A copy of a tensor, with strides that Python reads.
#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct Windows {
    #[dlpack(copy)]
    data: Vec<f32>,
    shape: [i64; 2],
    strides: [i64; 2],
}

#[pymethods]
impl Windows {
    /// Overlapping windows over a list.
    #[new]
    fn new(data: Vec<f32>, shape: [i64; 2], strides: [i64; 2]) -> Self {
        Self { data, shape, strides }
    }
}

/// Imported memory, of an object with attributes of its own.
#[pyclass(frozen, dict)]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct Labels {
    data: ImportedStorage<f32>,
    #[dlpack(shape)]
    extents: Vec<i64>,
}

/// A class that defines how it is pickled.
#[pyclass(frozen)]
#[derive(DLPackExport, DLPackImport)]
pub(crate) struct OwnReduce {
    data: ImportedStorage<f32>,
    #[dlpack(shape)]
    extents: Vec<i64>,
}

#[pymethods]
impl OwnReduce {
    fn __reduce__(&self) -> String {
        format!("its own way for {:?}", self.extents)
    }
}

/// Adds the classes.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::class::<SharedArray>().buffer_protocol().add(m)?;
    python::class::<FrozenArray>().buffer_protocol().add(m)?;
    python::class::<GrowingArray>().buffer_protocol().add(m)?;
    python::class::<ReplacedArray>().buffer_protocol().add(m)?;
    python::class::<PanickingArray>().buffer_protocol().add(m)?;
    python::class::<BareArray>().array_like().add(m)?;
    python::add_class::<PlainArray>(m)?;
    python::class::<Windows>().importable().picklable().add(m)?;
    python::class::<Labels>().importable().picklable().add(m)?;
    python::class::<OwnAttributes>().buffer_protocol().add(m)?;
    python::class::<Sample>().importable().buffer_protocol().picklable().add(m)?;
    python::class::<OwnReduce>().importable().picklable().add(m)
}
