//! The exceptions for a tensor that its producer does not export, with the expected dtype and a
//! cure: [`not_exported`].

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;

use super::advice::Library;
use crate::dtype::DataType;
use crate::import::is_of_numpy;
use crate::python::convert::{Bounded, is_refusal, ok_unless_exit};
use crate::python::import::missing_protocol::Advice;
use crate::python::import::object_kind::ObjectKind;

/// Adds what was expected and a cure to the `BufferError` of NumPy, and to a refusal of PyTorch for a
/// tensor that it stores otherwise ([`Stored`]). Returns every other error unchanged.
///
/// The array decides about the cure, and not the text of the error.
#[cold]
pub(super) fn not_exported(
    object: &Bound<'_, PyAny>,
    kind: ObjectKind,
    advice: &Advice,
    error: PyErr,
) -> PyErr {
    let py = object.py();
    let is_buffer_error = error.get_type(py).is(py.get_type::<PyBufferError>());
    let text = match kind {
        ObjectKind::NumPy if is_buffer_error => array_text(object, advice, &error).map(Some),
        ObjectKind::Table | ObjectKind::DLPack if is_refusal(py, &error) => {
            Stored::of(object).map(|stored| stored.map(|stored| stored.text(advice)))
        }
        _ => return error,
    };
    match ok_unless_exit(py, text) {
        Ok(Some(Some(text))) => {
            let explained = PyBufferError::new_err(text);
            explained.set_cause(py, Some(error));
            explained
        }
        Ok(_) => error,
        Err(exit) => exit,
    }
}

/// How PyTorch stores the elements of a tensor that it does not export.
#[derive(Clone, Copy)]
pub(super) enum Stored {
    /// Parts of different shapes.
    Nested,
    Quantized,
    /// No elements.
    Meta,
    /// In another layout than strides, such as `torch.sparse_csr`.
    Sparse,
    /// As the conjugates of what is in memory.
    Conjugated,
}

impl Stored {
    /// How the tensor of an object is stored; `None` for an ordinary one, and of another library.
    ///
    /// # Errors
    ///
    /// Those of [`ok_unless_exit`].
    #[cold]
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
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
            } else if object.getattr(intern!(py, "layout"))?.str()? != "torch.strided" {
                Some(Self::Sparse)
            } else if object.call_method0(intern!(py, "is_conj"))?.is_truthy()? {
                Some(Self::Conjugated)
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
        };
        format!("{}, got a {found}; pass {keep}{cure} (PyTorch)", expected(to))
    }
}

/// The message for an array of NumPy.
fn array_text(object: &Bound<'_, PyAny>, advice: &Advice, error: &PyErr) -> PyResult<String> {
    let py = object.py();
    let (to, note, copy) = match *advice {
        Advice::Convert(to) => (to, "", "pass `x.copy()`"),
        Advice::InPlace(to) => (
            to,
            "; the function changes the tensor in place, so keep the converted copy",
            "pass and keep a copy, `x.copy()`",
        ),
    };
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let name = dtype.getattr(intern!(py, "name"))?.extract::<String>()?;
    let letter = dtype.getattr(intern!(py, "kind"))?.extract::<char>()?;
    let is_native = dtype.getattr(intern!(py, "isnative"))?.is_truthy()?;
    let same = DataType::from_name(&name);
    let part = if letter == 'c' && to.is_some_and(|to| !to.is_complex()) { "x.real" } else { "" };
    let target = to.or(same).or(match letter {
        'f' => Some(DataType::F64),
        'c' => Some(DataType::COMPLEX128),
        _ => None,
    });
    let cure = match (letter, target) {
        // Only the layout is not exported.
        ('b' | 'i' | 'u' | 'f' | 'c', _) if is_native && same.is_some() && same == target => {
            copy.to_string()
        }
        ('M' | 'm', None | Some(DataType::I64)) => "pass `x.view('int64')`".to_string(),
        ('b' | 'i' | 'u' | 'f' | 'c' | 'M' | 'm', Some(to)) if is_of_numpy(to) => {
            format!("convert with `{part}.astype('{to}')`{note}")
        }
        // A type of another package, such as `ml_dtypes.bfloat16`.
        (_, Some(to)) if same.is_some() && is_of_numpy(to) => {
            format!("convert with `.astype('{to}')`{note}")
        }
        _ => "pass numbers".to_string(),
    };
    let (found, reason) = (dtype.str()?, error.value(py).to_string());
    let found = found.to_string_lossy();
    Ok(format!(
        "{}, got an array of {}, which NumPy does not export ({}); {cure}",
        expected(to),
        Bounded(&found),
        Bounded(reason.trim_end_matches('.'))
    ))
}

/// "expected float32".
pub(super) fn expected(dtype: Option<DataType>) -> String {
    match dtype {
        Some(dtype) => format!("expected {dtype}"),
        None => String::from("expected an array"),
    }
}
