//! Arrays that NumPy makes of objects that are not tensors, for [`Convert`](super::Convert):
//! [`by_numpy_after`].

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyInt, PyMemoryView, PyString};

use super::mismatch::{self, range_of};
use crate::dtype::DataType;
use crate::import::{ImportedTensor, Kind, is_of_numpy, kind_of};
use crate::python::convert::{
    Bounded, class_name, discard, error_text, is_exit, is_refusal, is_without_memory, ok_unless,
    ok_unless_exit, text,
};
use crate::python::import::advice::{Advice, Library};
use crate::python::import::from_dlpack::{from_dlpack, instead_of, text_of};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::{
    by_columns, check_mask, check_mask_of, computed, exporter_of,
};
use crate::python::import::not_exported::{Stored, expected, not_exported, wider};
use crate::python::import::object_kind::{NUMBERS, ObjectKind, has, kind_of_dtype};
use crate::python::import::sequences::{OwnItems, own_items};
use crate::python::numpy::NumPy;
use crate::python::table::lookup::requires_grad;

/// The tensor of an argument, the array that was imported, and the library of what was passed if NumPy
/// made the array of it.
pub(super) type Made<'py> = (ImportedTensor, Bound<'py, PyAny>, Option<Library>);

/// Makes an array of NumPy of an object that was not imported, and imports it: of an object that
/// is not a tensor, and after a refusal of an array of NumPy, or of a tensor with an `__array__`.
///
/// # Errors
///
/// The first error if there is no second attempt. An error of the second one has a refusal as its
/// cause.
#[cold]
pub(super) fn by_numpy_after<'py>(
    object: &Bound<'py, PyAny>,
    error: PyErr,
    to: Option<DataType>,
) -> PyResult<Made<'py>> {
    let py = object.py();
    if is_exit(py, &error) {
        return Err(error);
    }
    let kind = ObjectKind::of(object)?;
    check_mask(object)?;
    // Of an object that passes on the method of another one, too.
    if !kind.is_tensor() && is_without_memory(py, &error)? {
        return Err(error);
    }
    let is_for_numpy = match kind {
        ObjectKind::NumPy => is_refusal(py, &error),
        ObjectKind::Table | ObjectKind::DLPack => {
            is_refusal(py, &error)
                && Stored::of(object)?.is_none()
                && !is_without_memory(py, &error)?
                && has(&object.get_type(), "__array__")?
        }
        ObjectKind::Capsule | ObjectKind::Class | ObjectKind::Module => false,
        _ => true,
    };
    if !is_for_numpy && kind.is_tensor() {
        return Err(not_exported(object, kind, &Advice::Convert(to), error));
    }
    let made = if is_for_numpy {
        by_numpy(object, kind, to)
    } else {
        text_of(object, kind, &Advice::Convert(to)).and_then(|text| Err(PyTypeError::new_err(text)))
    };
    match made {
        Ok(made) => {
            discard(py, error);
            Ok(made)
        }
        Err(second) if !kind.is_tensor() => Err(instead_of(py, error, second)),
        Err(second) => {
            if second.cause(py).is_none() {
                second.set_cause(py, Some(error));
            }
            Err(second)
        }
    }
}

/// Makes an array of NumPy that exports its elements, and imports it.
fn by_numpy<'py>(
    object: &Bound<'py, PyAny>,
    kind: ObjectKind,
    to: Option<DataType>,
) -> PyResult<Made<'py>> {
    let py = object.py();
    let (computed, expression) = computed(object)?;
    check_mask_of(&computed, expression)?;
    let is_computed = !computed.is(object);
    // For advice: whether NumPy makes the same array of the object itself.
    let is_read = !is_computed || has(&object.get_type(), "__array__")?;
    let of = |is_alike| if is_alike { Library::converted(kind) } else { Library::Unknown };
    // The object that another one stands for, of which NumPy need not make an array.
    let exporter = if is_computed { Some(computed.clone()) } else { exporter_of(object)? };
    if let Some(computed) = exporter.filter(|exporter| !exporter.is(object)) {
        match import_object(&computed, &ImportOptions::new()) {
            Err(error) if is_exit(py, &error) || is_without_memory(py, &error)? => {
                return Err(error);
            }
            result => {
                if let Some(tensor) = ok_unless_exit(py, result)? {
                    let is_alike = is_read && !requires_grad(&computed)?;
                    return Ok((tensor, computed, Some(of(is_alike))));
                }
            }
        }
    }
    let OwnItems { object: items, is_alike } = own_items(&computed)?;
    let is_alike = is_alike && is_read;
    let (mut made_of, literal) = (of(is_alike), if is_alike { kind } else { ObjectKind::Other });
    let numpy = numpy_for(object, to)?;
    let asarray = intern!(py, "asarray");
    let array = if kind == ObjectKind::Bytes {
        // `numpy.asarray` would make an array of text.
        numpy.call_method1(asarray, (PyMemoryView::from(object)?,))?
    } else {
        // A masked array remains one.
        let made = numpy.call_method1(intern!(py, "asanyarray"), (&items,))?;
        check_mask_of(&made, expression)?;
        let array = numpy.call_method1(asarray, (made,))?;
        match by_columns(&computed, &array)? {
            Some(array) => {
                // `real` of an array of objects.
                if kind_of_dtype(&array)? == Some('c') {
                    made_of = Library::Unknown;
                }
                array
            }
            None => array,
        }
    };
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let letter = |name: &Bound<'py, PyString>| dtype.getattr(name)?.extract::<char>();
    let (number, size) = (letter(intern!(py, "kind"))?, letter(intern!(py, "char"))?);
    let is_list = matches!(kind, ObjectKind::Values | ObjectKind::Other) && size == 'd';
    let of_integers = if is_list { integers(&numpy, &items, &array, to)? } else { None };
    let array = match (number, size) {
        ('f', 'g') => finite(&numpy, &array, DataType::F64, to)?,
        ('c', 'G') => finite(&numpy, &array, DataType::COMPLEX128, to)?,
        ('O', _) => {
            let error = mismatch::too_large(&array, to)?;
            return Err(error.unwrap_or_else(|| mismatch::not_numbers(object, literal, &array, to)));
        }
        ('S' | 'U' | 'M' | 'm', _) => {
            return Err(mismatch::not_numbers(object, literal, &array, to));
        }
        _ => {
            let array = of_integers.unwrap_or(array);
            let tensor = import_object(&array, &ImportOptions::new());
            if let Some(tensor) = ok_unless(py, tensor, |error| !is_refusal(py, error))? {
                return Ok((tensor, array, Some(made_of)));
            }
            if let Some(wider) = wider(&dtype.getattr(intern!(py, "name"))?.extract::<String>()?) {
                array.call_method1(intern!(py, "astype"), (wider,))?
            } else if NUMBERS.contains(number) {
                // Another order of bytes, or strides that are not a multiple of an element.
                let native = dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?;
                numpy.call_method1(intern!(py, "array"), (&array, native))?
            } else {
                return Err(mismatch::not_numbers(object, literal, &array, to));
            }
        }
    };
    Ok((from_dlpack(&array)?, array, Some(made_of)))
}

/// Makes an array of integers of a list of integers, of which NumPy makes `float64`s because no type of 64
/// bits has all of them, or because some are `uint64`s of NumPy; `None` for a list with another number.
///
/// # Errors
///
/// `ValueError` if integers are expected and no type has all of these.
#[cold]
fn integers<'py>(
    numpy: &Bound<'py, PyModule>,
    items: &Bound<'py, PyAny>,
    array: &Bound<'py, PyAny>,
    to: Option<DataType>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = items.py();
    let to_integers = to.is_some_and(|to| kind_of(to) == Some(Kind::Integer));
    // A float of less than 2**53 is exact.
    let is_exact = || -> PyResult<bool> {
        let sizes = array.call_method0(intern!(py, "__abs__"))?;
        let large = sizes.call_method1(intern!(py, "__ge__"), (1_u64 << 53,))?;
        Ok(!large.call_method0(intern!(py, "any"))?.is_truthy()?)
    };
    if matches!(to, None | Some(DataType::F64)) || (!to_integers && is_exact()?) {
        return Ok(None);
    }
    let objects = numpy.call_method1(intern!(py, "array"), (items, "O"))?;
    let (mut has_negative, mut has_large) = (false, false);
    for item in objects.call_method0(intern!(py, "ravel"))?.try_iter()? {
        let mut item = item?;
        if NumPy::is_scalar(&item)? || NumPy::is_array(&item)? {
            item = item.call_method0(intern!(py, "item"))?;
        }
        if !item.is_instance_of::<PyInt>() {
            return Ok(None);
        }
        match item.extract::<i64>() {
            Ok(value) => has_negative |= value < 0,
            Err(_) => has_large = true,
        }
    }
    let dtype = match (has_negative, has_large) {
        (true, true) if to_integers => {
            let numbers = to.and_then(range_of).unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "{}, got integers that do not fit; pass {numbers}",
                expected(to)
            )));
        }
        (true, true) => return Ok(None),
        (_, true) => "uint64",
        (_, false) => "int64",
    };
    objects.call_method1(intern!(py, "astype"), (dtype,)).map(Some)
}

/// Imports NumPy.
fn numpy_for<'py>(
    object: &Bound<'py, PyAny>,
    to: Option<DataType>,
) -> PyResult<Bound<'py, PyModule>> {
    let py = object.py();
    match py.import(intern!(py, "numpy")) {
        Err(error) if error.is_instance_of::<PyImportError>(py) => {
            let instead = PyTypeError::new_err(format!(
                "{}, got {}, which only NumPy could convert; NumPy cannot be imported: {}",
                expected(to),
                class_name(&object.get_type())?,
                Bounded(&error_text(py, &error)?)
            ));
            discard(py, error);
            Err(instead)
        }
        numpy => numpy,
    }
}

/// Converts floats of a size that depends on the platform to the widest type of their kind, or to a
/// requested one of that kind, unless a finite one would become
/// infinite. `numpy.seterr` of the caller has no effect: NumPy raises or warns for values that it rounds
/// to zero, too.
fn finite<'py>(
    numpy: &Bound<'py, PyModule>,
    array: &Bound<'py, PyAny>,
    widest: DataType,
    to: Option<DataType>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // Rounded once.
    let is_narrower =
        |to: &DataType| is_of_numpy(*to) && (to.code() == widest.code() || to.is_complex());
    let dtype = to.filter(is_narrower).unwrap_or(widest).to_string();
    let ignored = [(intern!(py, "all"), "ignore")].into_py_dict(py)?;
    let state = numpy.call_method(intern!(py, "errstate"), (), Some(&ignored))?;
    state.call_method0(intern!(py, "__enter__"))?;
    let made = array.call_method1(intern!(py, "astype"), (dtype,));
    state.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
    let made = made?;
    let are_finite = |array| numpy.call_method1(intern!(py, "isfinite"), (array,));
    let equal = (are_finite(array)?, are_finite(&made)?);
    if numpy.call_method1(intern!(py, "array_equal"), equal)?.is_truthy()? {
        return Ok(made);
    }
    Err(PyValueError::new_err(format!(
        "{}, got {} with a value that does not fit",
        expected(to),
        text(&array.getattr(intern!(py, "dtype"))?)?
    )))
}
