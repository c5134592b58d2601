//! Classes over buffers, shapes and types of another crate.

use std::sync::Arc;

use dlpack_traits::{DLPackExport, DataType, Error, python};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Types as another crate has them: no trait of `dlpack_traits`.
mod theirs {
    use std::sync::Arc;

    /// A buffer with several owners, of any owner of a slice, as that of `arrow`.
    #[derive(Clone)]
    pub(super) struct Buffer(Arc<dyn AsRef<[f32]> + Send + Sync>);

    impl Buffer {
        pub(super) fn from_owner(owner: impl AsRef<[f32]> + Send + Sync + 'static) -> Self {
            Self(Arc::new(owner))
        }

        pub(super) fn values(&self) -> &[f32] {
            (*self.0).as_ref()
        }
    }

    /// As `burn::Shape`.
    pub(super) struct Shape(pub(super) Vec<u32>);

    /// As `candle_core::DType`.
    pub(super) enum Kind {
        Float,
        Text,
    }
}

fn dims(shape: &theirs::Shape) -> &[u32] {
    &shape.0
}

fn dtype(kind: &theirs::Kind) -> Result<DataType, Error> {
    match kind {
        theirs::Kind::Float => Ok(DataType::F32),
        theirs::Kind::Text => Err(Error::Custom("a text has no elements")),
    }
}

/// A buffer that a method lends, and whose shape and type functions convert.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
pub(crate) struct Lent {
    #[dlpack(data, slice = f32, with = theirs::Buffer::values, shared)]
    buffer: theirs::Buffer,
    #[dlpack(shape, with = dims)]
    shape: theirs::Shape,
    #[dlpack(dtype, with = dtype)]
    kind: theirs::Kind,
}

#[pymethods]
impl Lent {
    #[new]
    #[pyo3(signature = (values, shape, text=false))]
    fn new(values: Vec<f32>, shape: Vec<u32>, text: bool) -> Self {
        let kind = if text { theirs::Kind::Text } else { theirs::Kind::Float };
        Self { buffer: theirs::Buffer::from_owner(values), shape: theirs::Shape(shape), kind }
    }

    /// Takes the elements of a tensor, zero-copy. No test writes them afterwards.
    #[staticmethod]
    fn adopt(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tensor = python::from_dlpack(object)?;
        let shape = tensor.shape().iter().map(|&dim| u32::try_from(dim));
        let shape = shape.collect::<Result<_, _>>().map_err(|_| PyValueError::new_err("shape"))?;
        // SAFETY: 1. The tests write neither the elements of an adopted array nor those of an
        // export of it, which is READ_ONLY.
        let elements = unsafe { tensor.assume_owned_slice::<f32>() }?;
        let buffer = theirs::Buffer::from_owner(elements);
        Ok(Self { buffer, shape: theirs::Shape(shape), kind: theirs::Kind::Float })
    }

    /// Takes the elements of a tensor that no one else writes, or raises.
    #[staticmethod]
    fn adopt_checked(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tensor = python::from_dlpack(object)?;
        let buffer = theirs::Buffer::from_owner(tensor.into_owned_slice::<f32>()?);
        let len = u32::try_from(buffer.values().len()).unwrap_or(u32::MAX);
        Ok(Self { buffer, shape: theirs::Shape(vec![len]), kind: theirs::Kind::Float })
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.buffer.values().as_ptr().addr()
    }
}

/// Samples that the class owns alone, by `Deref`; their number is computed by a method.
#[pyclass(frozen, module = "dlpack_testing")]
#[derive(DLPackExport)]
#[dlpack(shape(self.samples.len(), 1))]
pub(crate) struct Samples {
    #[dlpack(data, slice = u8)]
    samples: Arc<Vec<u8>>,
}

#[pymethods]
impl Samples {
    #[new]
    fn new(samples: Vec<u8>) -> Self {
        Self { samples: Arc::new(samples) }
    }

    #[getter]
    fn data_ptr(&self) -> usize {
        self.samples.as_ptr().addr()
    }
}

/// Adds the classes.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<Lent>(m)?;
    python::add_class::<Samples>(m)
}
