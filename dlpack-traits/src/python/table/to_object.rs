//! Converts Rust tensors to objects of a given Python type: [`to_object`].

use alloc::format;
use alloc::string::{String, ToString};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::managed::ManagedTensor;
use crate::python::convert::{ok_unless_exit, unless_missing};
use crate::python::numpy::{NumPy, array_of};
use crate::python::table::maker::Maker;
use crate::python::table::offered::{offer_to, without_negative_strides};

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
