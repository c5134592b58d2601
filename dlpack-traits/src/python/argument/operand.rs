//! The argument of an elementwise function, an array or a number: [`Operand`].

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use pyo3::{Borrowed, PyTypeInfo};

use super::{Convert, PyTensor, mismatch};
use crate::dtype::DataType;
use crate::element::{Complex, Element};
use crate::export::{DLPackExport, OwnedTensor};
use crate::import::{CastError, ImportedTensor, Kind, is_widened, kind_of};

/// An argument of [`elementwise`](crate::python::elementwise): an array of any library, dtype and
/// layout, an object that NumPy converts, or a number of Python.
#[derive(Debug)]
pub struct Operand<'py>(Value<'py>);

#[derive(Debug)]
enum Value<'py> {
    Array(PyTensor<'py>),
    /// A number of Python. Its type adapts to that of the arrays.
    Number(ImportedTensor),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Operand<'py> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::stubs::ARRAY_LIKE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // Subclasses, such as `numpy.float64`, have a type that does not adapt.
        let number = if PyFloat::is_exact_type_of(&object) {
            scalar(object.extract::<f64>()?)?
        } else if PyBool::is_exact_type_of(&object) {
            scalar(object.extract::<bool>()?)?
        } else if PyInt::is_exact_type_of(&object) {
            match object.extract::<i64>() {
                Ok(value) => scalar(value)?,
                Err(_) => scalar(object.extract::<u64>()?)?,
            }
        } else if PyComplex::is_exact_type_of(&object) {
            let value = object.cast::<PyComplex>()?;
            scalar(Complex { re: value.real(), im: value.imag() })?
        } else {
            let Convert(array) = object.extract()?;
            return Ok(Self(Value::Array(array)));
        };
        Ok(Self(Value::Number(number)))
    }
}

impl<'py> Operand<'py> {
    /// The array or the number as a tensor.
    pub(in crate::python) const fn tensor(&self) -> &ImportedTensor {
        match &self.0 {
            Value::Array(array) => &array.tensor,
            Value::Number(number) => number,
        }
    }

    /// The array; `None` for a number.
    pub(in crate::python) const fn array(&self) -> Option<&PyTensor<'py>> {
        match &self.0 {
            Value::Array(array) => Some(array),
            Value::Number(_) => None,
        }
    }

    /// Whether this is computed as elements of a type. `most` is the highest kind of the arrays: a number
    /// of no higher kind adapts to their type.
    pub(in crate::python) fn fits(&self, to: DataType, most: Option<Kind>) -> bool {
        let from = self.tensor().dtype();
        let kind = kind_of(from);
        if self.array().is_none() && kind <= most {
            return kind <= kind_of(to);
        }
        is_widened(from, to)
    }

    /// The elements as another type; `None` if they are of this type.
    pub(in crate::python) fn converted(
        &self,
        to: DataType,
    ) -> Result<Option<ImportedTensor>, CastError> {
        let tensor = self.tensor();
        if tensor.dtype() == to { Ok(None) } else { tensor.cast(to).map(Some) }
    }

    /// The error for an array of a type that is not computed.
    pub(in crate::python) fn dtype_error(&self, py: Python<'_>, expected: &[DataType]) -> PyErr {
        let none = py.None();
        let object = self.array().map_or(&none, PyTensor::as_object).bind(py);
        mismatch::of_dtypes(object, self.tensor(), expected, None, "")
    }
}

/// A tensor without dimensions.
fn scalar<T: Element>(value: T) -> PyResult<ImportedTensor> {
    Ok(OwnedTensor::scalar(value).into_dlpack()?.import()?)
}
