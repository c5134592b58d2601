//! Advice for the user of a function: expressions that convert the passed object, in terms of
//! its own library where that is known.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use core::fmt;

use pyo3::intern;
use pyo3::prelude::*;

use crate::describe::Order;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::import::{Advised, Fix, ImportError, ImportedTensor, is_of_numpy, is_of_torch};
use crate::python::convert::{
    import_error, misaligned, ok_or_discard, ok_unless_exit, qualified_name,
};
use crate::python::import::object_kind::{ObjectKind, has};

/// What the message about an argument that was not imported suggests.
pub(in crate::python) enum Advice {
    /// A conversion by NumPy, to elements of a type if it is known.
    Convert(Option<DataType>),
    /// None, because the function would change the copy. A tensor of another type is converted,
    /// and kept.
    InPlace(Option<DataType>),
}

/// What the message about a wrong dtype says, before the conversion, if the function changes the
/// argument.
pub(in crate::python) const KEEP_CONVERTED: &str =
    "; the function changes the tensor in place, so keep the converted copy";

/// What advice to pass a copy says before the copy, if the function changes the argument.
pub(in crate::python) const KEEP: &str = "and keep ";

/// The library of an object, which determines the expressions that convert it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Library {
    NumPy,
    CuPy,
    Dpnp,
    PyTorch,
    Jax,
    /// Another object with `__dlpack__`, which may have no other method.
    Other,
    /// An object that NumPy makes an array of: a list, an object with `__array__`, a tensor that its
    /// library does not export.
    Converted,
    Bytes,
    /// An object that no library imports, or only once: a capsule.
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
    pub(in crate::python) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        for base in object.get_type().mro() {
            let Some(name) = qualified_name(base.cast()?)? else { continue };
            match &*name {
                "numpy.ndarray" => return Ok(Self::NumPy),
                // It keeps two dimensions.
                "numpy.matrix" => return Ok(Self::Converted),
                "cupy.ndarray" | "cupy._core.core.ndarray" => return Ok(Self::CuPy),
                "dpnp.dpnp_array.dpnp_array" => return Ok(Self::Dpnp),
                // It has PyTorch's methods, and they raise.
                "torch.utils.dlpack.ReadOnlyTensorWrapper" => break,
                // PyTorch exports integers of less than 8 bits as bytes, and converts none.
                "torch.Tensor" => {
                    let dtype = object.getattr(intern!(py, "dtype")).and_then(|dtype| dtype.str());
                    let is_narrow = ok_unless_exit(py, dtype)?.is_some_and(|name| {
                        let name = name.to_string_lossy();
                        let bits = name.rsplit_once("int").map(|(_, bits)| bits.parse::<u8>());
                        matches!(bits, Some(Ok(..8)))
                    });
                    return Ok(if is_narrow { Self::Unknown } else { Self::PyTorch });
                }
                name if name.starts_with("jaxlib.") && name.ends_with(".ArrayImpl") => {
                    return Ok(Self::Jax);
                }
                _ => {}
            }
        }
        Ok(match ObjectKind::of(object)? {
            // The exchange table exports a tensor of Paddle with a gradient.
            ObjectKind::Table
                if ok_unless_exit(py, object.call_method0("__dlpack__"))?.is_none() =>
            {
                let converts = has(&object.get_type(), "__array__")?;
                if converts { Self::Converted } else { Self::Unknown }
            }
            ObjectKind::Table | ObjectKind::DLPack => Self::Other,
            kind if kind.is_for_numpy() => Self::converted(kind),
            _ => Self::Unknown,
        })
    }

    /// The library of an object of which NumPy made an array.
    pub(in crate::python) const fn converted(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::NumPy => Self::NumPy,
            ObjectKind::Bytes => Self::Bytes,
            _ => Self::Converted,
        }
    }

    /// The expression of an array of NumPy, if one is known.
    fn array(self, found: DataType, device: Device) -> Option<&'static str> {
        match self {
            Self::NumPy => Some("x"),
            Self::Jax | Self::Converted => Some("numpy.asarray(x)"),
            Self::Bytes => Some("numpy.frombuffer(x, 'uint8')"),
            Self::Other if is_read_by_numpy(found, device) => Some("numpy.from_dlpack(x)"),
            _ => None,
        }
    }

    /// The expression of an array whose operators apply to each element, if one is known.
    fn with_operators(self, tensor: &ImportedTensor) -> Option<&'static str> {
        match self {
            Self::CuPy | Self::Dpnp | Self::PyTorch | Self::Jax => Some("x"),
            _ => self.array(tensor.dtype(), tensor.device()),
        }
    }

    /// The expression that applies a fix to a tensor of this dtype and device.
    fn fix(self, fix: Fix, found: DataType, device: Device) -> String {
        match fix {
            Fix::Cast(to) => self.cast((found, device), to, ""),
            Fix::Contiguous(order) => format!("; pass {}", self.contiguous(order, found, device)),
        }
    }

    /// How to make the elements contiguous in row-major order. `keep` is [`KEEP`] if the function
    /// changes them.
    pub(in crate::python) fn row_major(self, tensor: &ImportedTensor, keep: &str) -> String {
        format!("pass {keep}{}", self.contiguous(Order::RowMajor, tensor.dtype(), tensor.device()))
    }

    /// How to convert elements of the type `found` to the type `to`; an empty text if that is not
    /// known. `note` is [`KEEP_CONVERTED`] if the function changes them.
    pub(in crate::python) fn cast(
        self,
        (found, device): (DataType, Device),
        to: DataType,
        note: &str,
    ) -> String {
        let is_halved = found.is_complex() && is_of_reals(to);
        let (real, part) = if is_halved { ("x.real", ".real") } else { ("", "") };
        match (self, self.array(found, device)) {
            (Self::NumPy | Self::CuPy | Self::Dpnp, _) if is_of_numpy(to) => {
                format!("; convert with `{real}.astype('{to}')`")
            }
            (Self::Jax, _) if is_made_by_jax(to, note) => {
                format!("; convert with `{real}.astype('{to}')`")
            }
            (Self::PyTorch, _) if is_of_torch(to) && is_of_torch(found) => {
                format!("; convert with `{real}.to(torch.{to})`")
            }
            (_, Some(array)) if is_of_numpy(to) => {
                format!("; convert with `{array}{part}.astype('{to}')`")
            }
            (_, Some(array)) if is_of_torch(to) && is_torch_imported() => {
                // By a type of NumPy: PyTorch reads neither other byte orders nor negative strides.
                let numbers = if to.is_complex() { DataType::COMPLEX64 } else { DataType::F32 };
                format!(
                    "; convert with `torch.from_numpy({array}{part}.astype('{numbers}')).to(torch.{to})`"
                )
            }
            (Self::PyTorch | Self::Converted | Self::Bytes | Self::Unknown, _) => String::new(),
            _ if is_of_torch(to) && is_of_torch(found) && is_torch_imported() => {
                format!("; convert with `torch.from_dlpack(x).to(torch.{to})`")
            }
            _ => String::new(),
        }
    }

    /// A copy that is contiguous in this order.
    fn contiguous(self, order: Order, found: DataType, device: Device) -> &'static str {
        let by_numpy = is_read_by_numpy(found, device);
        match (order, self) {
            (Order::RowMajor, Self::NumPy | Self::Jax) => "`numpy.ascontiguousarray(x)`",
            (Order::RowMajor, Self::CuPy) => "`cupy.ascontiguousarray(x)`",
            (Order::RowMajor, Self::Dpnp) => "`dpnp.ascontiguousarray(x)`",
            (Order::RowMajor, Self::PyTorch) => "`x.contiguous()`",
            (Order::RowMajor, Self::Other) if by_numpy => {
                "`numpy.ascontiguousarray(numpy.from_dlpack(x))`"
            }
            (Order::RowMajor, _) => "a contiguous copy",
            (Order::ColumnMajor, Self::NumPy | Self::Jax) => "`numpy.asfortranarray(x)`",
            (Order::ColumnMajor, Self::CuPy) => "`cupy.asfortranarray(x)`",
            (Order::ColumnMajor, Self::Dpnp) => "`dpnp.asfortranarray(x)`",
            (Order::ColumnMajor, Self::PyTorch) if by_numpy => "`numpy.asfortranarray(x.detach())`",
            (Order::ColumnMajor, Self::Other) if by_numpy => {
                "`numpy.asfortranarray(numpy.from_dlpack(x))`"
            }
            (Order::ColumnMajor, _) => "a copy in column-major order",
        }
    }

    /// The expression of a copy, if one is known.
    fn copy_of(self, found: DataType, device: Device) -> Option<&'static str> {
        match self {
            Self::NumPy | Self::CuPy | Self::Dpnp => Some("`x.copy()`"),
            Self::PyTorch => Some("`x.clone()`"),
            Self::Jax | Self::Converted => Some("`numpy.array(x)`"),
            Self::Other if is_read_by_numpy(found, device) => Some("`numpy.from_dlpack(x).copy()`"),
            Self::Other | Self::Bytes | Self::Unknown => None,
        }
    }

    /// A copy of a tensor that the function does not change.
    pub(in crate::python) fn copy(self, found: DataType, device: Device) -> String {
        let copy = self.copy_of(found, device).unwrap_or("a copy");
        format!("pass {copy}")
    }

    /// Valid bools, for bytes that are neither 0 nor 1; an empty text if no expression is known.
    pub(in crate::python) fn bools(self, tensor: &ImportedTensor) -> String {
        let array = self.with_operators(tensor);
        array.map(|array| format!("; pass `{array} != 0`")).unwrap_or_default()
    }

    /// A copy that may be written, and that the caller keeps, because the function changes it.
    pub(in crate::python) fn copied(self, found: DataType, device: Device) -> String {
        let copy = self.copy_of(found, device).map(|copy| format!(", {copy}")).unwrap_or_default();
        format!("pass and keep a copy{copy}")
    }

    /// An object that exports the struct of DLPack 1.0 and later, for one that exported the
    /// legacy struct.
    pub(in crate::python) fn versioned(self, found: DataType, device: Device) -> String {
        match self {
            Self::NumPy => "update NumPy to 2.1 or later".into(),
            Self::PyTorch if is_read_by_numpy(found, device) => {
                "pass `x.numpy()`, or update PyTorch".into()
            }
            Self::Unknown => {
                "pass the object that it was made of, or call `__dlpack__(max_version=(1, 0))`"
                    .into()
            }
            _ => self.copied(found, device),
        }
    }

    /// A copy in host memory.
    pub(in crate::python) const fn on_host(self) -> &'static str {
        match self {
            Self::CuPy => "a copy on the host, `x.get()`",
            Self::Dpnp => "a copy on the host, `x.asnumpy()`",
            Self::PyTorch => "a copy on the host, `x.cpu()`",
            Self::Jax => "a copy on the host, `numpy.asarray(x)`",
            Self::Other => "a copy on the host, `numpy.from_dlpack(x, device='cpu')`",
            Self::NumPy | Self::Converted | Self::Bytes | Self::Unknown => "a copy on the host",
        }
    }

    /// The same elements with more axes, or with fewer: it adds first axes, and removes last ones of size 1,
    /// or takes a part. The memory stays the same, except that JAX copies.
    pub(in crate::python) fn of_rank(self, tensor: &ImportedTensor, expected: usize) -> String {
        let Some(array) = self.with_operators(tensor) else { return String::new() };
        let (shape, dims) = (tensor.shape(), tensor.ndim());
        let surplus = tensor.shape().len().saturating_sub(expected);
        if surplus == 0 {
            let index = vec!["None"; expected.saturating_sub(dims)];
            return format!("; pass for example `{array}[{}]`", index.join(", "));
        }
        // The last axes of size 1 lose nothing; of others the first part is taken.
        let ones = shape.iter().rev().take_while(|&&dim| dim == 1).count();
        let index = if ones >= surplus && shape.first() != Some(&1) {
            [&["..."][..], &vec!["0"; surplus]].concat()
        } else if shape.iter().take(surplus).all(|&dim| dim != 0) {
            vec!["0"; surplus]
        } else {
            // An axis without elements has no first part.
            return String::new();
        };
        format!("; pass for example `{array}[{}]`", index.join(", "))
    }
}

/// Whether `x.astype` of a JAX array makes an argument of this type. It makes 32-bit elements of
/// `float64` by default, and an array that a function cannot change.
pub(in crate::python) fn is_made_by_jax(to: DataType, note: &str) -> bool {
    let most = if to.is_complex() { 64 } else { 32 };
    note.is_empty() && (is_of_numpy(to) || to == DataType::BF16) && to.bits() <= most
}

/// Whether complex numbers are converted to a type without their imaginary parts, which a cast would
/// drop with a warning. A `bool` is `False` only if both parts are zero.
pub(in crate::python) fn is_of_reals(to: DataType) -> bool {
    !to.is_complex() && to != DataType::BOOL
}

/// Whether the program has imported PyTorch, which an expression for an object of another library needs.
fn is_torch_imported() -> bool {
    Python::attach(|py| {
        let modules = || py.import("sys")?.getattr("modules")?.contains("torch");
        ok_or_discard(py, modules()).unwrap_or(false)
    })
}

/// Whether `numpy.from_dlpack` imports the tensor.
fn is_read_by_numpy(dtype: DataType, device: Device) -> bool {
    is_of_numpy(dtype) && device.is_host()
}

/// Makes the exception of an import into a type, with the expressions of the object's library.
#[cold]
pub(in crate::python) fn mismatched(
    object: &Bound<'_, PyAny>,
    dtype: DataType,
    device: Device,
    error: ImportError,
) -> PyErr {
    let library = match Library::of(object) {
        Ok(library) => library,
        Err(exit) => return exit,
    };
    if let ImportError::Tensor(Error::Misaligned { dtype, align }) = error {
        return misaligned(dtype, align, &library.copy(dtype, device));
    }
    let advise = |f: &mut fmt::Formatter<'_>, fix| f.write_str(&library.fix(fix, dtype, device));
    let text = Advised { error: &error, advise }.to_string();
    import_error(error, text)
}
