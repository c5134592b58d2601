//! Arguments that wrap others, or build a struct: of a bounded size [`AtMost`], without a meaning beyond
//! the elements [`Exact`], of a type that derives `DLPackImport` [`FromTensor`].

use alloc::format;
use alloc::vec;
use core::ops::{Deref, DerefMut};

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyCapsule, PyComplex, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
};
use pyo3::{Borrowed, intern};

use super::checks;
use crate::import::{AnyElement, DLPackImport, ImportError, ImportPolicy};
use crate::python::convert::{class_name, discard, ok_unless_exit};
use crate::python::import::advice::mismatched;
use crate::python::import::import_object::{import_object, kept};
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::{check_mask_of, dense, exporter_of};
use crate::python::import::object_kind::{ObjectKind, has_array};
use crate::python::import::sequences::{MAX_NDIM, is_imported, is_list, is_sequence, read_items};
use crate::python::numpy::NumPy;

/// An argument of a `#[pyfunction]` or a method that is built from an array: a struct
/// that derives [`DLPackImport`].
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::FromTensor;
/// use dlpack_traits::{DLPackImport, ImportedStorage};
/// use pyo3::prelude::*;
///
/// /// `_` is a dimension of any size, which no field contains.
/// #[derive(DLPackImport)]
/// #[dlpack(shape(_, 3))]
/// struct Points { data: ImportedStorage<f64> }
///
/// #[pyfunction]
/// fn largest(points: FromTensor<Points>) -> PyResult<f64> {
///     Ok(points.data.elements()?.iter().fold(f64::NEG_INFINITY, f64::max))
/// }
/// ```
///
/// The field `0` is the value; methods of the struct can be called on the argument
/// itself. The wrapper exists because PyO3 converts the arguments of a function by its own
/// trait, and a struct that is a `#[pyclass]` already implements it.
///
/// # Errors
///
/// Python raises `TypeError` if the argument is not an array, or has a dtype that the
/// struct does not accept; `ValueError` for every other requirement of the struct, and for
/// a value that its `validate` rejects; and what the array's `__dlpack__` raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromTensor<T>(pub T);

impl<'py, T: DLPackImport> FromPyObject<'_, 'py> for FromTensor<T> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = super::super::stubs::SUPPORTS_DLPACK;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let tensor = kept(&object, checks::import::<AnyElement>(&object)?)?;
        let (dtype, device) = (tensor.dtype(), tensor.device());
        match T::from_dlpack(tensor) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(mismatched(&object, dtype, device, error)),
        }
    }
}

/// An array argument whose elements have together at most `BYTES` bytes.
///
/// A broadcast array may have any number of elements in memory of one byte, and a function that
/// copies it allocates memory for all of them. This bounds what a caller can make it allocate; it
/// is checked before [`Convert`](super::Convert) and [`FromTensor`](super::FromTensor) copy.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{AtMost, Convert, PyTensor};
/// use pyo3::prelude::*;
///
/// /// Up to 64 MiB, which are sorted in a copy.
/// #[pyfunction]
/// fn median(x: AtMost<Convert<PyTensor<'_, f64>>, { 64 << 20 }>) -> PyResult<f64> {
///     let mut values = x.elements().to_vec()?;
///     values.sort_by(f64::total_cmp);
///     Ok(values[values.len() / 2])
/// }
/// ```
///
/// It wraps every argument. The bytes are those of the tensor that is passed, before a conversion; a number
/// in a list has 8, a complex one 16, and an array in a list its own. Other objects are bounded by the
/// `nbytes` of them or of their buffer, by their `shape`, and by their length, with elements of one byte or
/// more: a `range` has no elements in memory. Lazy arrays of unknown size are not bounded.
/// A [`PyTensor`](super::PyTensor) copies nothing, so a function with such an argument may also
/// compare [`nbytes`](crate::ImportedTensor::nbytes) itself.
///
/// # Errors
///
/// `ValueError` for more bytes, `TypeError` for a capsule, which can be imported only once, and for a list
/// with a text, of which NumPy would make texts of one size; those of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMost<A, const BYTES: u64>(pub A);

impl<'a, 'py, A: FromPyObject<'a, 'py>, const BYTES: u64> FromPyObject<'a, 'py>
    for AtMost<A, BYTES>
{
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = A::INPUT_TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_exact_instance_of::<PyCapsule>() {
            return Err(PyTypeError::new_err(
                "expected an object with `__dlpack__`, got a capsule, whose size cannot be \
                 checked first; pass the object that it was made of",
            ));
        }
        let policy = ImportPolicy::new().max_bytes(BYTES);
        policy.check_nbytes(nbytes_of(&object, BYTES, 0)?).map_err(ImportError::from)?;
        A::extract(object).map(Self).map_err(Into::into)
    }
}

/// The bytes of a tensor; of a list or tuple the sum over its items, if it is not more than `most`; of an
/// array that is not imported, such as one in another byte order, and of another object the most of those
/// that it or its buffer states, of its shape and of its length, since each item makes at least one.
fn nbytes_of(object: &Bound<'_, PyAny>, most: u64, depth: usize) -> PyResult<u64> {
    let py = object.py();
    // Items of other sequences may be others where they are read again.
    let is_read = is_list(object)
        || ((object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>())
            && is_plain_list(object)?);
    if is_read && depth < MAX_NDIM {
        py.check_signals()?;
        let mut sum = 0_u64;
        for item in object.try_iter()? {
            let item = item?;
            let nbytes = if item.is_instance_of::<PyBool>() {
                1
            } else if item.is_instance_of::<PyFloat>() || item.is_instance_of::<PyInt>() {
                8
            } else if item.is_instance_of::<PyComplex>() {
                16
            } else if item.is_instance_of::<PyString>() || item.is_instance_of::<PyBytes>() {
                return Err(PyTypeError::new_err(format!(
                    "expected numbers, got {} in {}; pass numbers",
                    class_name(&item.get_type())?,
                    class_name(&object.get_type())?
                )));
            } else {
                nbytes_of(&item, most.saturating_sub(sum), depth.saturating_add(1))?.max(1)
            };
            sum = sum.saturating_add(nbytes);
            if sum > most {
                break;
            }
        }
        return Ok(sum);
    }
    // The argument has the better error, or converts the object.
    let is_tried = depth == 0 || is_imported(object)?;
    let tensor = if is_tried { Some(import_object(object, &ImportOptions::new())) } else { None };
    if let Some(tensor) = ok_unless_exit(py, tensor.transpose())?.flatten() {
        return Ok(tensor.nbytes());
    }
    let nbytes = match object.getattr(intern!(py, "nbytes")).and_then(|stated| stated.extract()) {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            discard(py, error);
            u64::MAX
        }
        stated => ok_unless_exit(py, stated)?.unwrap_or(0),
    };
    let len = ok_unless_exit(py, object.len())?.unwrap_or(0);
    let stated = nbytes.max(u64::try_from(len).unwrap_or(u64::MAX));
    if NumPy::is_array(object)? || NumPy::is_scalar(object)? {
        return Ok(stated);
    }
    let of_buffer = || PyMemoryView::from(object)?.getattr(intern!(py, "nbytes"))?.extract::<u64>();
    let of_buffer = ok_unless_exit(py, of_buffer())?.unwrap_or(0);
    let of_shape = ok_unless_exit(py, nbytes_of_shape(object))?.unwrap_or(0);
    Ok(stated.max(of_buffer).max(of_shape))
}

/// The bytes of as many elements as the shape of an object has, or as the `size` of an image, of the type
/// that it states, and otherwise of one byte.
fn nbytes_of_shape(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = object.py();
    let dims = match object.getattr_opt(intern!(py, "shape"))? {
        Some(shape) => shape,
        None => object.getattr(intern!(py, "size"))?,
    };
    let itemsize = || {
        let dtype = object.getattr(intern!(py, "dtype"))?;
        dtype.getattr(intern!(py, "itemsize"))?.extract::<u64>()
    };
    let mut nbytes = ok_unless_exit(py, itemsize())?.unwrap_or(1);
    for dim in dims.try_iter()? {
        nbytes = nbytes.saturating_mul(match dim?.extract() {
            Ok(dim) => dim,
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                discard(py, error);
                u64::MAX
            }
            // A dimension may be unknown.
            unknown => ok_unless_exit(py, unknown)?.unwrap_or(1),
        });
    }
    Ok(nbytes)
}

/// An array argument that rejects objects whose class adds a meaning to a NumPy array, such as a
/// unit: those of a subclass of `numpy.ndarray`, and those without a `__dlpack__` of their own
/// that NumPy converts by `__array__` (`pint.Quantity`, `pandas.Series`) or that pass on the
/// `__dlpack__` of another object.
///
/// Items of lists and tuples are checked, too, and sequences of other classes are rejected. The other
/// arguments read the array of such an object, and drop everything else. Only masked arrays with a masked
/// element are rejected always.
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::{Exact, PyTensor};
/// use pyo3::prelude::*;
///
/// /// The sum of numbers without a unit.
/// #[pyfunction]
/// fn sum(x: Exact<PyTensor<'_, f64>>) -> f64 {
///     x.elements().iter().sum()
/// }
/// ```
///
/// It wraps every argument: [`PyTensor`](super::PyTensor), [`PyTensorMut`](super::PyTensorMut),
/// [`Convert`](super::Convert), [`FromTensor`](super::FromTensor). Classes of other libraries are
/// accepted, subclasses too: `torch.nn.Parameter` is one.
///
/// # Errors
///
/// `TypeError`, and those of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact<A>(pub A);

impl<'a, 'py, A: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Exact<A> {
    type Error = PyErr;
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = A::INPUT_TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if !NumPy::is_array_class(&object.get_type())? {
            check_exact(&object)?;
        }
        A::extract(object).map(Self).map_err(Into::into)
    }
}

/// Rejects an object as [`check_class`] does, and a list or tuple that contains one.
fn check_exact<'py>(object: &Bound<'py, PyAny>) -> PyResult<()> {
    if !is_plain_list(object)? {
        return check_class(object, "x");
    }
    let mut visit = |item: &Bound<'py, PyAny>, _| {
        if is_plain_list(item)? {
            return Ok(None);
        }
        check_class(item, "item").map(|()| Some(item.clone()))
    };
    read_items(object, &mut vec![], &mut visit).map(drop)
}

/// Whether an object is a list or tuple that iterates as one, so as often as it is read.
fn is_plain_list(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    if !is_sequence(object)? {
        return Ok(false);
    }
    let (list, tuple) = (py.get_type::<PyList>(), py.get_type::<PyTuple>());
    let name = intern!(py, "__iter__");
    let Some(own) = object.get_type().getattr_opt(name)? else { return Ok(false) };
    Ok(own.is(&list.getattr(name)?) || own.is(&tuple.getattr(name)?))
}

/// Rejects an object of a subclass of NumPy's arrays, one that only NumPy can convert, one that passes on
/// the `__dlpack__` of another object, and a sequence of a class of its own. `x` names the object in advice.
fn check_class(object: &Bound<'_, PyAny>, x: &str) -> PyResult<()> {
    let rejects = match ObjectKind::of(object)? {
        ObjectKind::Array => !NumPy::is_scalar(object)?,
        ObjectKind::NumPy => !NumPy::is_array_class(&object.get_type())?,
        ObjectKind::Other => {
            exporter_of(object)?.is_some() || has_array(object)? || is_sequence(object)?
        }
        ObjectKind::Values => is_sequence(object)?,
        _ => false,
    };
    if !rejects {
        return Ok(());
    }
    // The advice below would drop the mask.
    check_mask_of(object, x)?;
    let class = class_name(&object.get_type())?;
    let array = dense(object, x)?.unwrap_or_else(|| format!("numpy.asarray({x})"));
    Err(PyTypeError::new_err(format!(
        "expected an array without a unit or another meaning, got {class}, of which only the \
         elements would be read; pass `{array}`"
    )))
}

/// Lends the field of a wrapper.
macro_rules! deref {
    ($($wrapper:ident<$value:ident $(, const $number:ident: $integer:ty)?>)*) => {$(
        impl<$value $(, const $number: $integer)?> Deref for $wrapper<$value $(, $number)?> {
            type Target = $value;

            #[inline]
            fn deref(&self) -> &$value {
                &self.0
            }
        }

        impl<$value $(, const $number: $integer)?> DerefMut for $wrapper<$value $(, $number)?> {
            #[inline]
            fn deref_mut(&mut self) -> &mut $value {
                &mut self.0
            }
        }
    )*};
}

deref! { FromTensor<T> AtMost<A, const BYTES: u64> Exact<A> }
