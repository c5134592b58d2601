//! Advice for the user of a function: expressions that convert the passed object, in terms of
//! its own library where that is known.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use pyo3::intern;
use pyo3::prelude::*;

use crate::device::Device;
use crate::dtype::DataType;
use crate::import::{
    COMPACT, ImportError, ImportedTensor, MismatchKind, cast, is_of_numpy, is_of_torch,
};
use crate::python::convert::{discard, ok_unless_exit};

/// The library of an object, which determines the expressions that convert it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    NumPy,
    CuPy,
    Dpnp,
    PyTorch,
    Jax,
    /// Another object with `__dlpack__`, which may have no other method.
    Other,
    /// An object that no library imports, or only once: a list, a capsule.
    Unknown,
}

impl Library {
    /// Finds the library of an object by the names of its class and of the bases of this
    /// class.
    ///
    /// # Errors
    ///
    /// Those of [`ok_unless_exit`].
    #[cold]
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        for base in object.get_type().mro() {
            let name = base.cast()?.fully_qualified_name();
            let Some(name) = ok_unless_exit(py, name)? else { continue };
            match &*name.to_string_lossy() {
                "numpy.ndarray" => return Ok(Self::NumPy),
                "cupy.ndarray" | "cupy._core.core.ndarray" => return Ok(Self::CuPy),
                "dpnp.dpnp_array.dpnp_array" => return Ok(Self::Dpnp),
                // It has PyTorch's methods, and they raise.
                "torch.utils.dlpack.ReadOnlyTensorWrapper" => break,
                "torch.Tensor" => return Ok(Self::PyTorch),
                name if name.starts_with("jaxlib.") && name.ends_with(".ArrayImpl") => {
                    return Ok(Self::Jax);
                }
                _ => {}
            }
        }
        let is_tensor = ok_unless_exit(py, object.hasattr(intern!(py, "__dlpack__")))?;
        Ok(if is_tensor == Some(true) { Self::Other } else { Self::Unknown })
    }

    /// How to convert the elements to the type `to`; an empty text if that is not known.
    pub(super) fn cast(self, tensor: &ImportedTensor, to: DataType) -> String {
        self.cast_of(tensor.dtype(), tensor.device(), to)
    }

    fn cast_of(self, found: DataType, device: Device, to: DataType) -> String {
        let on_host = device.is_host();
        match self {
            Self::NumPy | Self::CuPy | Self::Dpnp if is_of_numpy(to) => {
                format!("; convert with `.astype('{to}')`")
            }
            Self::PyTorch if is_of_torch(to) => format!("; convert with `.to(torch.{to})`"),
            // JAX makes 32-bit elements of `astype('float64')` by default.
            Self::Jax if is_of_numpy(to) => {
                format!("; convert with `numpy.asarray(x).astype('{to}')`")
            }
            Self::Other if is_of_numpy(to) && is_of_numpy(found) && on_host => {
                format!("; convert with `numpy.from_dlpack(x).astype('{to}')`")
            }
            Self::Unknown => String::new(),
            _ if is_of_torch(to) && is_of_torch(found) => {
                format!("; convert with `torch.from_dlpack(x).to(torch.{to})`")
            }
            _ => String::new(),
        }
    }

    /// The text of an error with the advice for this library.
    fn adapted(self, text: &str, found: DataType, device: Device, error: &ImportError) -> String {
        let ImportError::Mismatch(mismatch) = error else { return text.to_string() };
        match mismatch.unmet() {
            MismatchKind::DType { needed, .. } => {
                match (cast(needed).to_string(), needed.first()) {
                    (general, Some(&to)) if !general.is_empty() => {
                        text.replace(&general, &self.cast_of(found, device, to))
                    }
                    _ => text.to_string(),
                }
            }
            MismatchKind::Variant(refusals) => {
                refusals.iter().fold(text.to_string(), |text, (_, refusal)| {
                    self.adapted(&text, found, device, refusal)
                })
            }
            _ => text.replace(COMPACT, self.contiguous(found, device)),
        }
    }

    /// A copy that is contiguous in row-major order.
    fn contiguous(self, found: DataType, device: Device) -> &'static str {
        match self {
            Self::NumPy | Self::Jax => "pass `numpy.ascontiguousarray(x)`",
            Self::CuPy => "pass `cupy.ascontiguousarray(x)`",
            Self::Dpnp => "pass `dpnp.ascontiguousarray(x)`",
            Self::PyTorch => "pass `x.contiguous()`",
            Self::Other if is_read_by_numpy(found, device) => {
                "pass `numpy.ascontiguousarray(numpy.from_dlpack(x))`"
            }
            Self::Other | Self::Unknown => "pass a contiguous copy",
        }
    }

    /// As [`cast`](Self::cast), for an object that NumPy has converted to an array.
    pub(super) fn cast_by_numpy(self, to: DataType) -> String {
        match self {
            Self::PyTorch if is_of_torch(to) => format!("; convert with `.to(torch.{to})`"),
            _ if !is_of_numpy(to) => String::new(),
            Self::NumPy | Self::CuPy | Self::Dpnp => format!("; convert with `.astype('{to}')`"),
            Self::Other => format!("; convert with `numpy.from_dlpack(x).astype('{to}')`"),
            _ => format!("; convert with `numpy.asarray(x).astype('{to}')`"),
        }
    }

    /// A copy that may be written, and that the caller keeps, because the function changes it.
    pub(super) fn copied(self, tensor: &ImportedTensor) -> &'static str {
        match self {
            Self::NumPy | Self::CuPy | Self::Dpnp => "pass and keep a copy, `x.copy()`",
            Self::PyTorch => "pass and keep a copy, `x.clone()`",
            Self::Jax => "pass and keep a copy, `numpy.array(x)`",
            Self::Other if is_read_by_numpy(tensor.dtype(), tensor.device()) => {
                "pass and keep a copy, `numpy.from_dlpack(x).copy()`"
            }
            Self::Other | Self::Unknown => "pass and keep a copy",
        }
    }

    /// An object that exports the struct of DLPack 1.0 and later, for one that exported the
    /// legacy struct.
    pub(super) fn versioned(self, tensor: &ImportedTensor) -> &'static str {
        match self {
            Self::NumPy => "update NumPy to 2.1 or later",
            Self::PyTorch if is_read_by_numpy(tensor.dtype(), tensor.device()) => {
                "pass `x.numpy()`, or update PyTorch"
            }
            Self::Unknown => {
                "pass the object that it was made of, or call `__dlpack__(max_version=(1, 0))`"
            }
            _ => self.copied(tensor),
        }
    }

    /// A copy in host memory.
    pub(super) const fn on_host(self) -> &'static str {
        match self {
            Self::CuPy => "pass a copy on the host, `x.get()`",
            Self::Dpnp => "pass a copy on the host, `x.asnumpy()`",
            Self::PyTorch => "pass a copy on the host, `x.cpu()`",
            Self::Jax => "pass a copy on the host, `numpy.asarray(x)`",
            Self::Other => "pass a copy on the host, `numpy.from_dlpack(x, device='cpu')`",
            Self::NumPy | Self::Unknown => "pass a copy on the host",
        }
    }

    /// The same elements with more axes, or a part with fewer. It adds or removes the first
    /// axes; the memory stays the same, except that JAX copies.
    pub(super) fn of_rank(self, tensor: &ImportedTensor, expected: usize) -> String {
        let array = match self {
            Self::Unknown => return String::new(),
            Self::Other if !is_read_by_numpy(tensor.dtype(), tensor.device()) => {
                return String::new();
            }
            Self::Other => "numpy.from_dlpack(x)",
            _ => "x",
        };
        let surplus = tensor.shape().len().saturating_sub(expected);
        // An axis without elements has no first part.
        if tensor.shape().iter().take(surplus).any(|&dim| dim == 0) {
            return String::new();
        }
        let index = match surplus {
            0 => vec!["None"; expected.saturating_sub(tensor.ndim())],
            _ => vec!["0"; surplus],
        };
        format!("; pass for example `{array}[{}]`", index.join(", "))
    }
}

/// Whether `numpy.from_dlpack` imports the tensor.
fn is_read_by_numpy(dtype: DataType, device: Device) -> bool {
    is_of_numpy(dtype) && device.is_host()
}

/// Makes the exception of an import into a type. The text of the error names expressions of
/// NumPy and of PyTorch, which are replaced by those of the object's library.
#[cold]
pub(super) fn mismatched(
    object: &Bound<'_, PyAny>,
    dtype: DataType,
    device: Device,
    error: ImportError,
) -> PyErr {
    let text = error.to_string();
    let adapted = match Library::of(object) {
        Ok(library) => library.adapted(&text, dtype, device, &error),
        Err(interrupt) => return interrupt,
    };
    let raised = PyErr::from(error);
    if adapted == text {
        return raised;
    }
    let py = object.py();
    let instead = PyErr::from_type(raised.get_type(py), adapted);
    discard(py, raised);
    instead
}
