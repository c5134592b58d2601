//! Creates objects of a given Python type from Rust tensors: [`to_object`], by the exchange table of
//! the type ([`Maker`]), by NumPy's C API, or by the `from_dlpack` of a library, whose result is checked
//! ([`offer_to`]).
//!
//! The standard does not say who owns a tensor when the function of a table fails. Tables of this crate
//! leave it to the caller, so they get the tensor itself. Other tables get a [`Relay`], which is lost if
//! the function fails and does not call its deleter. PyTorch's does not, and does not use the
//! tensor later.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::dtype::DataType;
use crate::exchange::foreign_table::{Outcome, WrapFunction};
use crate::exchange::relay::Relay;
use crate::export::DLPackExport;
use crate::ffi::DLManagedTensorVersioned;
use crate::import::{ImportedStorage, ImportedTensor};
use crate::managed::{ManagedStruct, ManagedTensor};
use crate::python::convert::{exchange_error, ok_unless_exit, text, unless_missing};
use crate::python::export::offer::{offer, storage_of};
use crate::python::interpreter::{LONG_COPY, detached_if};
use crate::python::numpy::{NumPy, array_of};
use crate::python::table::calls::{failed, outcome};
use crate::python::table::lookup::{self, facts_of_type, read};
use crate::python::table::type_cache::{Makes, Table, TypeFacts};

/// How many relays of a table may be lost, each of 112 bytes. After that its class is treated as
/// one without a table: the `from_dlpack` of its library makes the objects, if there is one.
const MOST_LOST: u8 = 16;

/// The function of an exchange table that creates objects of a class.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct Maker {
    function: WrapFunction,
    table: Table,
    library: Library,
}

/// The library that made a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Ours,
    PyTorch,
    Other,
}

/// A tensor for [`Maker::make`], which releases it or gives it away: a valid struct of major
/// version 1, whose deleter is called once.
#[must_use = "the tensor leaks unless an object is made of it"]
pub(in crate::python) struct GivenTensor(NonNull<DLManagedTensorVersioned>);

impl GivenTensor {
    /// Takes a tensor out of the value that imported it; `None` for a tensor in a legacy
    /// struct, and for one without a struct.
    pub(in crate::python) fn of_import(tensor: ImportedTensor) -> Option<Self> {
        NonNull::new(tensor.into_raw().ok()?).map(Self)
    }
}

impl From<ManagedTensor> for GivenTensor {
    fn from(tensor: ManagedTensor) -> Self {
        match NonNull::new(tensor.into_raw()) {
            Some(tensor) => Self(tensor),
            None => unreachable!("a managed tensor is not NULL"),
        }
    }
}

impl Maker {
    /// Returns the function for a class; `None` if its table has none, makes no objects, or has
    /// refused too often.
    ///
    /// # Errors
    ///
    /// Those of [`foreign_table_of`](super::lookup::foreign_table_of).
    pub(in crate::python) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        // Only PyTorch has lazy bits.
        let TypeFacts { table, has_lazy_bits: is_pytorch, .. } = facts_of_type(class)?;
        let Some(function) = read(table).and_then(|table| table.wrap) else { return Ok(None) };
        let library = match lookup::makes(table) {
            Makes::Nothing | Makes::Foreign(MOST_LOST..) => return Ok(None),
            Makes::Ours => Library::Ours,
            Makes::Foreign(_) if is_pytorch => Library::PyTorch,
            Makes::Foreign(_) => Library::Other,
        };
        Ok(Some(Self { function, table, library }))
    }

    /// Whether the class has a table of this crate that makes no objects.
    pub(in crate::python) fn is_missing_in_ours(class: &Bound<'_, PyType>) -> bool {
        matches!(facts_of_type(class), Ok(facts) if lookup::makes(facts.table) == Makes::Nothing)
    }

    /// Whether this crate made the table.
    pub(in crate::python) fn is_ours(self) -> bool {
        self.library == Library::Ours
    }

    /// Creates an object from a tensor. On failure the tensor is released.
    ///
    /// # Errors
    ///
    /// What the function raised; `BufferError` if it failed without an exception.
    pub(in crate::python) fn make(
        self,
        py: Python<'_>,
        GivenTensor(tensor): GivenTensor,
    ) -> PyResult<Bound<'_, PyAny>> {
        // The outer error means that the function failed, and may not have taken the tensor;
        // the inner error, that an object owns the tensor.
        let call = |tensor| -> PyResult<PyResult<_>> {
            let mut object = ptr::null_mut();
            // SAFETY: the function is from a table. It takes ownership of the tensor, and the
            // result may be written.
            let status = unsafe { self.function.get()(tensor, &raw mut object) };
            object_of(py, status, object)
        };
        if self.library == Library::Ours {
            let made = call(tensor.as_ptr());
            if made.is_err() {
                // SAFETY: 1 (the struct is valid) and 2 (its deleter may be called): by its type,
                // `tensor` is such a struct, and a table of this crate returns it after a failure,
                // perhaps with another deleter.
                drop(unsafe { ManagedStruct::release_of(tensor) });
            }
            return made?;
        }
        // SAFETY: 1 (the struct is valid, its deleter may be called once): by its type, `tensor`
        // is such a struct. 2. The library that made the table is trusted to call a deleter once.
        // 3. PyTorch's function is trusted to forget a tensor that it does not take.
        let sent = unsafe { Relay::send(tensor, self.library == Library::PyTorch, call) };
        if sent.is_lost {
            lookup::set_makes(self.table, |makes| match makes {
                Makes::Foreign(lost) => Makes::Foreign(lost.saturating_add(1)),
                ours => ours,
            });
        }
        sent.result?
    }
}

/// Interprets the result of the function.
fn object_of(
    py: Python<'_>,
    status: c_int,
    object: *mut c_void,
) -> PyResult<PyResult<Bound<'_, PyAny>>> {
    let raised = match outcome(py, status, !object.is_null()) {
        Outcome::Done => None,
        Outcome::RaisedWithResult => Some(PyErr::fetch(py)),
        failure => return Err(failed(py, failure, "managed_tensor_to_py_object_no_sync")),
    };
    // SAFETY: this thread is attached, and this function owns the reference, which is not
    // NULL in these outcomes.
    let object = unsafe { Bound::from_owned_ptr(py, object.cast()) };
    Ok(raised.map_or(Ok(object), Err))
}

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
        class.name()?.to_string_lossy(),
        object.get_type().name()?.to_string_lossy()
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
    from_dlpack_of_name(class.py(), &text(&class.getattr("__module__")?)?)
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
    let module = made.get_type().getattr(intern!(py, "__module__")).and_then(|name| text(&name));
    Ok(ok_unless_exit(py, module)?.is_some_and(|module| module.starts_with(name)))
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
