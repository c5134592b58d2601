//! Imports the tensors of Python objects: [`from_dlpack`], and explains an error of an object that is
//! not a tensor: what it is, and what to pass.

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyType};

use crate::dtype::DataType;
use crate::import::{ImportedTensor, is_beyond, is_of_numpy};
use crate::python::convert::{
    caused_by, class_name, discard, is_exit, ok_or_discard, ok_unless, ok_unless_exit,
};
use crate::python::import::advice::{Advice, is_of_reals};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::{
    array_of, check_mask, dense, exporter_of, filled, filled_numbers, is_column,
    is_masked_if_computed,
};
use crate::python::import::not_exported::not_exported;
use crate::python::import::object_kind::{NUMBERS, ObjectKind, has_numbers, kind_of_dtype};
use crate::python::import::sequences::own_items;
use crate::python::interpreter::{LONG_COPY, detached_if};

/// Imports the tensor of a Python object, zero-copy.
///
/// The object may export tensors by the exchange table of its type or by `__dlpack__`. It
/// may also be a DLPack capsule. An array of NumPy is read by NumPy's C API, with the same
/// result as by its `__dlpack__`; subclasses of `numpy.ndarray` are not.
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// /// The sum of any tensor of `float32`s on the CPU.
/// # #[allow(dead_code)]
/// fn sum(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     let tensor = python::from_dlpack(object)?;
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// It can also convert an argument of a `#[pyfunction]`, which then receives the tensor:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::{ImportedTensor, python};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn sum(#[pyo3(from_py_with = python::from_dlpack)] tensor: ImportedTensor) -> PyResult<f32> {
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// PyTorch's exchange table also exports tensors that require a gradient, which its
/// `__dlpack__` rejects. Autograd does not record what Rust does with them: reading one is
/// like reading `x.detach()`. [`PyTensorMut`](crate::python::PyTensorMut) rejects them. A tensor of
/// PyTorch whose elements are not in its memory (`x.conj()`, `x.conj().imag`) is a `BufferError`
/// that names `x.resolve_conj()` or `x.resolve_neg()`.
///
/// # Errors
///
/// What the object raises. If nothing is requested and a cure is known, that is the cause of a
/// `BufferError` with the cure: for an array of NumPy in another byte order, `.astype('float32')`. `AttributeError` if it is not a tensor, with a message that
/// suggests what to pass (for a list, `numpy.asarray(x)`). `BufferError` for a tensor that violates the
/// standard.
/// `ValueError` for a capsule that contains no tensor, or whose tensor was already
/// consumed.
#[inline]
pub fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    from_dlpack_with(object, &ImportOptions::new())
}

/// Imports the tensor of a Python object, as [`from_dlpack`] does, with options.
///
/// # Errors
///
/// Those of [`from_dlpack`]; and `BufferError` if the tensor is not on the requested
/// device, or not on the device that `__dlpack_device__` returned.
#[inline(always)]
pub fn from_dlpack_with(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    import_object(object, options).map_err(|error| explained(object, options, error))
}

/// Returns the exception of an import: an `AttributeError` that suggests what to pass if the
/// object is not a tensor, and otherwise the error itself, with a cure where one is known.
#[cold]
pub(in crate::python) fn explained(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
    error: PyErr,
) -> PyErr {
    let py = object.py();
    if is_exit(py, &error) {
        return error;
    }
    let advice = Advice::Convert(None);
    let kind = match check_mask(object).and_then(|()| ObjectKind::of(object)) {
        Ok(kind) if kind.is_tensor() => {
            if !options.are_met_by_any() {
                return error;
            }
            return not_exported(object, kind, &advice, error);
        }
        Ok(kind) => kind,
        Err(masked) => return masked,
    };
    match text_unless_passed_on(object, kind, &advice) {
        Ok(None) => error,
        Ok(Some(text)) => {
            let explained = PyAttributeError::new_err(text);
            let value = explained.value(py);
            ok_or_discard(py, value.setattr(intern!(py, "name"), intern!(py, "__dlpack__")));
            ok_or_discard(py, value.setattr(intern!(py, "obj"), object));
            instead_of(py, error, explained)
        }
        Err(exit) => exit,
    }
}

/// As [`text_of`]; `None` for an object that passes on the `__dlpack__` of a tensor, whose error
/// states why it is not exported.
///
/// # Errors
///
/// Those of [`text_of`].
pub(in crate::python) fn text_unless_passed_on(
    object: &Bound<'_, PyAny>,
    kind: ObjectKind,
    advice: &Advice,
) -> PyResult<Option<String>> {
    if kind == ObjectKind::Other && exporter_of(object)?.is_some() {
        return Ok(None);
    }
    text_of(object, kind, advice).map(Some)
}

/// Makes the message about an object that is not a tensor.
///
/// # Errors
///
/// Those of [`ok_unless_exit`](crate::python::convert::ok_unless_exit), and a `TypeError` of
/// [`own_items`].
pub(in crate::python) fn text_of(
    object: &Bound<'_, PyAny>,
    kind: ObjectKind,
    advice: &Advice,
) -> PyResult<String> {
    let found = match kind {
        ObjectKind::Class => {
            let class = object.cast::<PyType>()?;
            format!("the object is the class {}, which is not a tensor", class_name(class)?)
        }
        ObjectKind::Module => "the object is a module, which is not a tensor".to_string(),
        _ => {
            let class = class_name(&object.get_type())?;
            format!("the object is of type {class}, which is not a tensor: it has no `__dlpack__`")
        }
    };
    let py = object.py();
    let mut items = None;
    if matches!(advice, Advice::Convert(_)) && kind.is_for_numpy() {
        // An array of masked ones would have no mask.
        let is_masked =
            |error: &PyErr| error.is_instance_of::<PyTypeError>(py) || is_exit(py, error);
        items = ok_unless(py, own_items(object), is_masked)?;
    }
    if let (Advice::Convert(_), Some(dense)) = (advice, dense(object, "x")?) {
        return Ok(format!("{found}; pass `{dense}`"));
    }
    if matches!(advice, Advice::Convert(_)) && is_masked_if_computed(object)? {
        return Ok(format!(
            "{found}; pass `x.compute().filled(0)` with a value for masked elements"
        ));
    }
    let items = items.filter(|items| items.is_alike).map(|items| items.object);
    let expression = match *advice {
        Advice::InPlace(_) => {
            return Ok(format!(
                "{found}; the function changes its argument in place, so pass a tensor, such as \
                 one of NumPy or PyTorch"
            ));
        }
        Advice::Convert(dtype) if !makes_numbers(items.as_ref(), kind, dtype)? => {
            "a tensor, such as one of NumPy or PyTorch".to_string()
        }
        // `numpy.asarray` would make an array of text.
        Advice::Convert(dtype) if kind == ObjectKind::Bytes => match dtype {
            Some(dtype) if is_of_numpy(dtype) && dtype != DataType::U8 => {
                format!("`numpy.frombuffer(x, 'uint8').astype('{dtype}')`")
            }
            _ => "`numpy.frombuffer(x, 'uint8')`".to_string(),
        },
        Advice::Convert(dtype) => {
            let dtype = dtype.filter(|&dtype| is_of_numpy(dtype));
            let as_dtype = dtype.map(|dtype| format!(", '{dtype}'")).unwrap_or_default();
            if kind == ObjectKind::Array {
                let cast = |filled: String| {
                    format!(
                        "{found}; pass `numpy.asarray({filled}{as_dtype})` with a value for missing ones"
                    )
                };
                match dtype {
                    None => {
                        if let Some(filled) = filled_numbers(object)? {
                            return Ok(cast(filled));
                        }
                    }
                    // Other objects are not read: a file may be large.
                    Some(to) if is_column(object)? => {
                        let casts = |object: &Bound<'_, PyAny>| is_in_range(object, to);
                        let is_in_range = casts(object)?;
                        if is_in_range != Some(true) {
                            if let Some(filled) = filled(object, |it| Ok(casts(it)? == Some(true)))?
                            {
                                return Ok(cast(filled));
                            }
                            let range = is_in_range.map(|_| format!(" in the range of {to}"));
                            return Ok(format!(
                                "{found}; pass numbers{}",
                                range.unwrap_or_default()
                            ));
                        }
                    }
                    Some(_) => {}
                }
            }
            let is_halved = dtype.is_some_and(is_of_reals) && object.is_instance_of::<PyComplex>();
            let part = if is_halved { ".real" } else { "" };
            format!("`numpy.asarray(x{part}{as_dtype})`")
        }
    };
    Ok(format!("{found}; pass {expression}"))
}

/// Whether NumPy casts an object to a type without arbitrary values; `None` for an object of which it
/// makes no numbers.
fn is_in_range(object: &Bound<'_, PyAny>, to: DataType) -> PyResult<Option<bool>> {
    let py = object.py();
    let read = || -> PyResult<Option<bool>> {
        let array = array_of(object)?;
        let tensor = match import_object(&array, &ImportOptions::new()) {
            Ok(tensor) => tensor,
            Err(error) if is_exit(py, &error) => return Err(error),
            Err(error) => {
                discard(py, error);
                if matches!(kind_of_dtype(&array)?, Some('M' | 'm')) {
                    return Ok(None);
                }
                // Objects, such as decimals, or another order of bytes.
                let floats = array.call_method1(intern!(py, "astype"), ("float64",))?;
                import_object(&floats, &ImportOptions::new())?
            }
        };
        let is_long = tensor.numel() >= LONG_COPY;
        Ok(Some(!detached_if(py, is_long, || is_beyond(&tensor, to))))
    };
    Ok(ok_unless_exit(py, read())?.flatten())
}

/// Whether NumPy makes numbers of an object. What the object does not state is tried, because the
/// `__array__` of a class may raise, and a list may be ragged. `None` is an object that it does not
/// convert.
fn makes_numbers(
    object: Option<&Bound<'_, PyAny>>,
    kind: ObjectKind,
    dtype: Option<DataType>,
) -> PyResult<bool> {
    let Some(object) = object else { return Ok(false) };
    if let Some(has_numbers) = has_numbers(object)? {
        return Ok(has_numbers);
    }
    if kind == ObjectKind::Bytes || object.is_instance_of::<PyComplex>() {
        return Ok(true);
    }
    let py = object.py();
    // NumPy need not be installed where the message is made.
    let Some(numpy) = ok_unless_exit(py, py.import(intern!(py, "numpy")))? else { return Ok(true) };
    let dtype = dtype.filter(|&dtype| is_of_numpy(dtype)).map(|dtype| dtype.to_string());
    let kind_as = |dtype: Option<String>| {
        let array = numpy.call_method1(intern!(py, "asarray"), (object, dtype));
        Ok::<_, PyErr>(ok_unless_exit(py, array.and_then(|array| kind_of_dtype(&array)))?.flatten())
    };
    // Of times NumPy makes numbers, whose unit is lost.
    let is_of_times = kind == ObjectKind::Values && matches!(kind_as(None)?, Some('M' | 'm'));
    Ok(!is_of_times && kind_as(dtype)?.is_some_and(|kind| NUMBERS.contains(kind)))
}

/// Returns the second error. The first is its cause, unless it only repeats that a method is
/// missing or cannot be called.
pub(in crate::python) fn instead_of(py: Python<'_>, first: PyErr, second: PyErr) -> PyErr {
    if first.is_instance_of::<PyAttributeError>(py) || first.is_instance_of::<PyTypeError>(py) {
        discard(py, first);
        return second;
    }
    caused_by(py, second, first)
}
