//! The exceptions for a tensor that its producer does not export, with the expected dtype and a
//! cure: [`not_exported`].

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::dtype::DataType;
use crate::ffi;
use crate::import::{is_allowed, is_of_numpy};
use crate::python::convert::{
    Bounded, caused_by, class_name, error_text, is_refusal, ok_unless_exit, text,
};
use crate::python::import::advice::{Advice, KEEP_CONVERTED, Library, is_made_by_jax, is_of_reals};
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_values::filled;
use crate::python::import::object_kind::{NUMBERS, ObjectKind, kind_of_dtype};

/// Adds what was expected and a cure to the `BufferError` of NumPy, to a refusal of JAX for an array
/// with memory, and to one of PyTorch for a tensor that it stores otherwise ([`Stored`]). Returns every other error unchanged.
///
/// The array decides about the cure, and not the text of the error.
#[cold]
pub(in crate::python) fn not_exported(
    object: &Bound<'_, PyAny>,
    kind: ObjectKind,
    advice: &Advice,
    error: PyErr,
) -> PyErr {
    let py = object.py();
    let is_buffer_error = error.get_type(py).is(py.get_type::<PyBufferError>());
    let text = match kind {
        ObjectKind::NumPy if is_buffer_error => exports_by_numpy(object).and_then(|by_numpy| {
            if by_numpy { array_text(object, Library::NumPy, advice, &error) } else { Ok(None) }
        }),
        ObjectKind::Table | ObjectKind::DLPack if is_refusal(py, &error) => Library::of(object)
            .and_then(|library| match library {
                Library::Jax if object.call_method0("is_deleted")?.is_truthy()? => Ok(None),
                Library::Jax => array_text(object, library, advice, &error),
                _ => match Stored::of(object)? {
                    Some(stored) => Ok(Some(stored.text(advice))),
                    None => without_missing(object, advice),
                },
            }),
        _ => return error,
    };
    match ok_unless_exit(py, text) {
        Ok(Some(Some(text))) => caused_by(py, PyBufferError::new_err(text), error),
        Ok(_) => error,
        Err(exit) => exit,
    }
}

/// Whether the array exports by the method of NumPy, and not by one of its subclass, whose error is about
/// something else.
fn exports_by_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let method = intern!(py, "__dlpack__");
    let of_numpy =
        py.import(intern!(py, "numpy"))?.getattr(intern!(py, "ndarray"))?.getattr(method)?;
    Ok(object.get_type().getattr(method)?.is(&of_numpy))
}

/// The message for a column that says that values are missing, such as one of Arrow, if the tensor of a
/// copy without them is exported.
fn without_missing(object: &Bound<'_, PyAny>, advice: &Advice) -> PyResult<Option<String>> {
    let Advice::Convert(to) = *advice else { return Ok(None) };
    let py = object.py();
    let mut count = object.getattr_opt(intern!(py, "null_count"))?;
    if let Some(method) = count.as_ref().filter(|count| count.is_callable()) {
        count = Some(method.call0()?);
    }
    if !count.map_or(Ok(false), |count| count.is_truthy())? {
        return Ok(None);
    }
    let is_exported = |filled: &Bound<'_, PyAny>| {
        let tensor = import_object(filled, &ImportOptions::new());
        Ok(ok_unless_exit(py, tensor)?.is_some())
    };
    missing_text(object, to, is_exported)
}

/// The message for a column with missing values; `None` if `accepts` does not return `true` for the
/// column without them.
///
/// # Errors
///
/// Those of [`filled`].
pub(in crate::python) fn missing_text<'py>(
    object: &Bound<'py, PyAny>,
    to: Option<DataType>,
    accepts: impl Fn(&Bound<'py, PyAny>) -> PyResult<bool>,
) -> PyResult<Option<String>> {
    let Some(filled) = filled(object, accepts)? else { return Ok(None) };
    let class = class_name(&object.get_type())?;
    let expected = expected(to);
    Ok(Some(format!(
        "{expected}, got {class} with missing values; pass `{filled}` with a value for them"
    )))
}

/// How PyTorch stores the elements of a tensor that it does not export.
#[derive(Clone, Copy)]
pub(in crate::python) enum Stored {
    /// Parts of different shapes.
    Nested,
    Quantized,
    /// No elements.
    Meta,
    /// In another layout than strides, such as `torch.sparse_csr`.
    Sparse,
    /// As the conjugates of what is in memory.
    Conjugated,
    /// As the negatives of what is in memory.
    Negated,
    /// Not at all: it stands for other tensors, or its memory was freed.
    Absent,
}

impl Stored {
    /// How the tensor of an object is stored; `None` for an ordinary one, and of another library.
    ///
    /// # Errors
    ///
    /// Those of [`ok_unless_exit`].
    #[cold]
    pub(in crate::python) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        if Library::of(object)? != Library::PyTorch {
            return Ok(None);
        }
        let has = |name| object.getattr(name)?.is_truthy();
        let read = || -> PyResult<Option<Self>> {
            Ok(if has(intern!(py, "is_nested"))? {
                Some(Self::Nested)
            } else if has(intern!(py, "is_quantized"))? {
                Some(Self::Quantized)
            } else if has(intern!(py, "is_meta"))? {
                Some(Self::Meta)
            } else if text(&object.getattr(intern!(py, "layout"))?)? != "torch.strided" {
                Some(Self::Sparse)
            } else if object.call_method0(intern!(py, "is_conj"))?.is_truthy()? {
                Some(Self::Conjugated)
            } else if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
                Some(Self::Negated)
            } else if has(intern!(py, "is_cpu"))? && !has_memory(object)? {
                Some(Self::Absent)
            } else {
                None
            })
        };
        Ok(ok_unless_exit(py, read())?.flatten())
    }

    /// The message, with a cure.
    fn text(self, advice: &Advice) -> String {
        let (to, keep) = match *advice {
            Advice::Convert(to) => (to, ""),
            Advice::InPlace(to) => (to, "and keep "),
        };
        let (found, cure) = match self {
            Self::Nested => ("nested tensor", "`x.to_padded_tensor(0)`, or one of `x.unbind()`"),
            Self::Quantized => ("quantized tensor", "`x.dequantize()`"),
            Self::Meta => {
                ("tensor on the device `meta`, which has no memory", "one on another device")
            }
            Self::Sparse => ("tensor without strides", "`x.to_dense()`"),
            Self::Conjugated => ("tensor with the conjugate bit", "`x.resolve_conj()`"),
            Self::Negated => ("tensor with the negative bit", "`x.resolve_neg()`"),
            Self::Absent => (
                "tensor without memory, because it is masked, distributed, traced or freed",
                "one with values, such as `x.to_tensor(0)` of a masked one",
            ),
        };
        format!("{}, got a {found}; pass {keep}{cure} (PyTorch)", expected(to))
    }
}

/// Whether a tensor of PyTorch has an address, or no elements. One that `torch.func.vmap` passes
/// raises instead.
fn has_memory(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = tensor.py();
    let address = tensor.call_method0(intern!(py, "data_ptr"));
    let has_address =
        ok_unless_exit(py, address)?.map_or(Ok(false), |address| address.is_truthy())?;
    Ok(has_address || tensor.call_method0(intern!(py, "numel"))?.eq(0)?)
}

/// The message for an array of NumPy or JAX; `None` for one of JAX whose dtype is not the reason.
fn array_text(
    object: &Bound<'_, PyAny>,
    library: Library,
    advice: &Advice,
    error: &PyErr,
) -> PyResult<Option<String>> {
    let py = object.py();
    let (to, note, copy) = match *advice {
        Advice::Convert(to) => (to, "", "pass `x.copy()`"),
        Advice::InPlace(to) => (to, KEEP_CONVERTED, "pass and keep a copy, `x.copy()`"),
    };
    let (array, exporter) = match library {
        Library::Jax if is_made_by_jax(to.unwrap_or(DataType::F32), note) => ("", "JAX"),
        Library::Jax => ("numpy.asarray(x)", "JAX"),
        _ => ("", "NumPy"),
    };
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let name = dtype.getattr(intern!(py, "name"))?.extract::<String>()?;
    let letter = dtype.getattr(intern!(py, "kind"))?.extract::<char>()?;
    let is_native = dtype.getattr(intern!(py, "isnative"))?.is_truthy()?;
    let same = DataType::from_name(&name);
    let is_halved = letter == 'c' && to.is_some_and(is_of_reals);
    let part = match (is_halved, array) {
        (false, _) => "",
        (true, "") => "x.real",
        (true, _) => ".real",
    };
    let target = to.or(same).or(match letter {
        'f' => Some(DataType::F64),
        'c' => Some(DataType::COMPLEX128),
        _ => None,
    });
    let cure = match (letter, target) {
        // Only the layout is not exported.
        (_, Some(to)) if is_native && is_of_numpy(to) && same == target => match library {
            Library::Jax => return Ok(None),
            _ => copy.to_string(),
        },
        ('M' | 'm', None | Some(DataType::I64)) if !is_native => {
            format!("convert with `.astype('int64')`{note}")
        }
        ('M' | 'm', None | Some(DataType::I64)) => "pass `x.view('int64')`".to_string(),
        ('M' | 'm', _) => NO_NUMBERS.to_string(),
        ('b' | 'i' | 'u' | 'f' | 'c', Some(to)) if is_of_numpy(to) => {
            format!("convert with `{array}{part}.astype('{to}')`{note}")
        }
        // A type of another package, such as `ml_dtypes.bfloat16`.
        _ => match (wider(&name), to) {
            (Some(_), Some(to)) if is_of_numpy(to) => {
                format!("convert with `{array}.astype('{to}')`{note}")
            }
            (Some(wider), None) => format!("convert with `{array}.astype('{wider}')`{note}"),
            (Some(_), Some(to)) => format!("pass a tensor of a library that exports {to}"),
            (None, _) if note.is_empty() => numbers_of(object, "", to)?,
            (None, _) => NO_NUMBERS.to_string(),
        },
    };
    let (found, reason) = (text(&dtype)?, error_text(py, error)?);
    Ok(Some(format!(
        "{}, got an array of {}, which {exporter} does not export ({}); {cure}",
        expected(to),
        Bounded(&found),
        Bounded(reason.trim_end_matches('.'))
    )))
}

/// The cure where none is known.
pub(in crate::python) const NO_NUMBERS: &str = "pass numbers";

/// The cure for an array without numbers of one type: a field of a structured array, the numbers
/// in an array of objects. `x` is the expression of the array, and empty for the object itself.
pub(in crate::python) fn numbers_of(
    array: &Bound<'_, PyAny>,
    x: &str,
    to: Option<DataType>,
) -> PyResult<String> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let names = dtype.getattr_opt(intern!(py, "names"))?.filter(|names| !names.is_none());
    if let Some(names) = names {
        for name in names.try_iter()? {
            let name = name?;
            if kind_of_dtype(&array.get_item(&name)?)?.is_some_and(|kind| NUMBERS.contains(kind)) {
                let (x, name) = (if x.is_empty() { "x" } else { x }, name.repr()?);
                return Ok(format!(
                    "pass one of its fields, such as `{x}[{}].copy()`",
                    Bounded(&name.to_string_lossy())
                ));
            }
        }
    }
    let to = to.unwrap_or(DataType::F64);
    let is_of_objects = dtype.getattr(intern!(py, "kind"))?.extract::<char>()? == 'O';
    // The objects may be anything: the conversion is tried. One to integers could drop fractions.
    let is_rounded = matches!(to.code(), ffi::kDLFloat | ffi::kDLComplex);
    let converts = || {
        let made = array.call_method1(intern!(py, "astype"), (to.to_string(),))?;
        let are_equal = made.call_method1(intern!(py, "__eq__"), (array,))?;
        Ok(is_rounded || are_equal.call_method0(intern!(py, "all"))?.is_truthy()?)
    };
    if is_of_objects && is_of_numpy(to) && ok_unless_exit(py, converts())? == Some(true) {
        return Ok(format!("convert with `{x}.astype('{to}')`"));
    }
    Ok(NO_NUMBERS.to_string())
}

/// "expected float32".
pub(in crate::python) fn expected(dtype: Option<DataType>) -> String {
    match dtype {
        Some(dtype) => format!("expected {dtype}"),
        None => String::from("expected an array"),
    }
}

/// The dtype of NumPy that has all values of a dtype of another package, such as
/// `ml_dtypes.bfloat16` and `ml_dtypes.int4`.
pub(in crate::python) fn wider(name: &str) -> Option<&'static str> {
    match name {
        "int2" | "int4" => Some("int8"),
        "uint2" | "uint4" => Some("uint8"),
        _ => DataType::from_name(name)
            .filter(|dtype| dtype.lanes() == 1 && dtype.bits() <= 16)
            .filter(|&dtype| dtype != DataType::F16 && is_allowed(dtype, DataType::F32))
            .filter(|dtype| !matches!(dtype.code(), ffi::kDLInt | ffi::kDLUInt | ffi::kDLBool))
            .map(|_| "float32"),
    }
}
