//! Converts Rust tensors to objects of a given Python type: [`to_object`]. Passes tensors to the
//! `from_dlpack` of a library, and checks what it makes: [`offer_to`].

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::dtype::DataType;
use crate::export::DLPackExport;
use crate::import::ImportedStorage;
use crate::managed::ManagedTensor;
use crate::python::convert::{exchange_error, ok_unless_exit, unless_missing};
use crate::python::export::offer::{offer, storage_of};
use crate::python::interpreter::{LONG_COPY, detached_if};
use crate::python::numpy::{NumPy, array_of};
use crate::python::table::maker::Maker;

/// Converts a tensor to a Python object of a given type, zero-copy. Only negative strides are
/// copied for PyTorch, which does not have them.
///
/// It uses the exchange table of the type if there is one, as `torch.Tensor` has. An array of
/// `numpy.ndarray` is made by NumPy's C API, or by `numpy.from_dlpack` if that API cannot make
/// it. For every other type it calls the `from_dlpack` of the type, of its module, or of the
/// enclosing packages.
///
/// ```no_run
/// # #[cfg(feature = "derive")] {
/// use dlpack_traits::{DLPackExport, python};
/// use pyo3::prelude::*;
///
/// #[derive(DLPackExport)]
/// struct Grid { data: Vec<f64>, shape: [usize; 2] }
///
/// # #[allow(dead_code)]
/// fn grid(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
///     let grid = Grid { data: vec![0.0; 6], shape: [2, 3] };
///     let class = py.import("torch")?.getattr("Tensor")?.extract()?;
///     python::to_object(&class, grid.into_dlpack()?)
/// }
/// # }
/// ```
///
/// # Errors
///
/// What the type raises; `TypeError` if the type has no exchange table and no
/// `from_dlpack` that returns its objects, and if the object has another dtype or shape. The
/// tensor is then released.
pub fn to_object<'py>(
    class: &Bound<'py, PyType>,
    tensor: ManagedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    if let Some(maker) = Maker::of(class)? {
        let tensor = if maker.is_ours() { tensor } else { without_negative_strides(py, tensor)? };
        return maker.make(py, tensor.into());
    }
    if NumPy::is_array_class(class)? {
        return array_of(py, tensor);
    }
    let from_dlpack = from_dlpack_of(class)?.ok_or_else(|| makes_nothing(class))?;
    let object = offer_to(&from_dlpack, tensor)?;
    if object.is_instance(class)? {
        return Ok(object);
    }
    Err(PyTypeError::new_err(format!(
        "`{}` is made by no `from_dlpack`; the nearest one makes `{}`",
        class.name()?,
        object.get_type().name()?
    )))
}

/// Makes the exception for a type whose objects cannot be made of tensors.
#[cold]
pub(in crate::python) fn makes_nothing(class: &Bound<'_, PyType>) -> PyErr {
    let ours = if Maker::is_missing_in_ours(class) {
        "; in Rust, `python::class::<T>().importable()` adds both to a class"
    } else {
        ""
    };
    class.name().map_or_else(
        |error| error,
        |name| {
            PyTypeError::new_err(format!(
                "`{name}` has neither an exchange table that makes objects nor a `from_dlpack`{ours}"
            ))
        },
    )
}

/// Finds the `from_dlpack` that is expected to return objects of a type.
pub(in crate::python) fn from_dlpack_of<'py>(
    class: &Bound<'py, PyType>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let own = unless_missing(class.py(), class.getattr("from_dlpack"))?;
    if own.is_some() { Ok(own) } else { from_dlpack_of_module(class) }
}

/// Finds the `from_dlpack` of the module of a type, or of an enclosing package.
pub(in crate::python) fn from_dlpack_of_module<'py>(
    class: &Bound<'py, PyType>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    from_dlpack_of_name(class.py(), &class.getattr("__module__")?.to_string())
}

/// Finds the `from_dlpack` of a module, or of an enclosing package, by its name.
pub(in crate::python) fn from_dlpack_of_name<'py>(
    py: Python<'py>,
    module: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    for candidate in candidates(module) {
        // Only modules that are already imported: importing a guessed name would run its
        // code.
        let Some(module) = ok_unless_exit(py, modules.get_item(&candidate))? else { continue };
        let found = unless_missing(py, module.getattr("from_dlpack"))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Yields the names of the modules that may define `from_dlpack` for the types of a
/// module: the module itself, its submodule `dlpack`, then the same for each enclosing
/// package.
fn candidates(module: &str) -> impl Iterator<Item = String> {
    let outwards = core::iter::successors(Some(module), |module| {
        module.rsplit_once('.').map(|(outer, _)| outer)
    });
    outwards.flat_map(|module| [module.to_string(), format!("{module}.dlpack")])
}

/// Passes a tensor to a `from_dlpack`, [without negative strides](without_negative_strides).
///
/// # Errors
///
/// What it raises; `TypeError` if the object that it makes has another dtype or shape: JAX makes
/// 32-bit elements of 64-bit ones by default, MLX always.
pub(in crate::python) fn offer_to<'py>(
    from_dlpack: &Bound<'py, PyAny>,
    tensor: ManagedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    let py = from_dlpack.py();
    let tensor = storage_of(without_negative_strides(py, tensor)?)?;
    let sent = Sent::of(&tensor)?;
    let made = from_dlpack.call1((offer(py, tensor)?,))?;
    sent.check(&made)?;
    Ok(made)
}

/// The dtype and the shape of a tensor that a library gets.
#[derive(Debug)]
pub(in crate::python) struct Sent {
    dtype: DataType,
    shape: Vec<i64>,
}

impl Sent {
    pub(in crate::python) fn of(tensor: &impl DLPackExport) -> PyResult<Self> {
        let view = tensor.tensor().map_err(exchange_error)?;
        Ok(Self { dtype: view.dtype(), shape: view.shape().to_vec() })
    }

    /// Compares them with the attributes `dtype` and `shape` of the object that the library made, if
    /// it has them.
    ///
    /// # Errors
    ///
    /// `TypeError` if they differ.
    pub(in crate::python) fn check(&self, made: &Bound<'_, PyAny>) -> PyResult<()> {
        check_dtype(made, self.dtype)?;
        let shape = &self.shape;
        let read = || made.getattr(intern!(made.py(), "shape"))?.extract::<Vec<i64>>();
        match ok_unless_exit(made.py(), read())? {
            Some(found) if &found != shape => Err(PyTypeError::new_err(format!(
                "expected a result of shape {shape:?}, got one of {found:?} from its library"
            ))),
            _ => Ok(()),
        }
    }
}

fn check_dtype(made: &Bound<'_, PyAny>, dtype: DataType) -> PyResult<()> {
    let py = made.py();
    let read = || -> PyResult<String> {
        Ok(made.getattr(intern!(py, "dtype"))?.str()?.to_string_lossy().into_owned())
    };
    let found = ok_unless_exit(py, read())?;
    // `int32`, `torch.int32`, `<dtype: 'int32'>`.
    let is_part_of_name = |part: char| part.is_ascii_alphanumeric() || part == '_';
    let found = found
        .as_deref()
        .and_then(|text| text.rsplit(|part| !is_part_of_name(part)).find(|name| !name.is_empty()));
    if let Some(other) = found.and_then(DataType::from_name).filter(|&found| found != dtype) {
        let cure = if is_of_module(made, "jax")? {
            ", or call `jax.config.update('jax_enable_x64', True)`"
        } else {
            ""
        };
        return Err(PyTypeError::new_err(format!(
            "expected a result of {dtype}, got one of {other} from its library, which changes \
             values; return {other}{cure}"
        )));
    }
    Ok(())
}

/// Whether the class of an object is defined in a package whose name begins like this.
fn is_of_module(made: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let py = made.py();
    let module = made.get_type().getattr(intern!(py, "__module__"));
    Ok(ok_unless_exit(py, module)?.is_some_and(|module| module.to_string().starts_with(name)))
}

/// Copies a host tensor with negative strides, which few libraries have: Paddle reads other memory
/// for them, JAX and MLX reject them, and so does PyTorch, 2.12 by ending the process. Other threads
/// run during a long copy.
///
/// # Errors
///
/// `MemoryError`.
pub(in crate::python) fn without_negative_strides(
    py: Python<'_>,
    tensor: ManagedTensor,
) -> PyResult<ManagedTensor> {
    let is_reversed = tensor.strides().iter().any(|&stride| stride < 0);
    if !is_reversed || !tensor.device().is_host() {
        return Ok(tensor);
    }
    let tensor = tensor.import().map_err(exchange_error)?;
    detached_if(py, tensor.numel() >= LONG_COPY, || tensor.to_own_copy())
        .and_then(ImportedStorage::new)
        .and_then(|copy: ImportedStorage| copy.into_dlpack())
        .map_err(exchange_error)
}
