//! Converts Python values to plain data, and errors to exceptions.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use pyo3::Borrowed;
use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyException, PyIndexError, PyMemoryError, PyOverflowError,
    PyRecursionError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::describe::Order;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::import::{Advised, Fix, ImportError, MismatchKind, is_of_numpy, is_of_torch};
use crate::panic::catch_panic;

impl From<Error> for PyErr {
    /// The exception that the body of a function raises by `?`: `MemoryError` for a failed
    /// allocation; `IndexError` for an index out of range; `TypeError` for a dtype that is not the
    /// requested one, or that DLPack or an enum of dtypes does not have; `RuntimeError` for a failure of a device's
    /// runtime; otherwise `ValueError`, for a shape, a layout, a value, a device or a permission.
    /// Only an exchange raises `BufferError`.
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
            Error::InvalidBits { dtype: DataType::BOOL } => PyValueError::new_err(format!(
                "{text}; pass `numpy.asarray(x) != 0`, or `numpy.from_dlpack(x) != 0` if `x` has no \
                 `__array__`"
            )),
            Error::NoSuchElement | Error::NoSuchIndex { .. } => PyIndexError::new_err(text),
            Error::ElementMismatch { requested, .. } => {
                PyTypeError::new_err(format!("{text}{}", general(Fix::Cast(requested))))
            }
            Error::DTypeMismatch { .. }
            | Error::NoDType { .. }
            | Error::NoVariant { .. }
            | Error::UnsupportedDType { .. } => PyTypeError::new_err(text),
            Error::Misaligned { dtype, align } => misaligned(
                dtype,
                align,
                "pass `numpy.require(x, requirements='A')` (NumPy) or `x.clone()` (PyTorch)",
            ),
            Error::Device { .. } | Error::NoLibrary { .. } => PyRuntimeError::new_err(text),
            _ => PyValueError::new_err(text),
        }
    }
}

/// Returns the exception for an error of an exchange with another library, or of the protocols that
/// the library uses: as `From<Error>`, but `BufferError`, as the standards require, for a tensor
/// that cannot be exported or imported.
pub(in crate::python) fn exchange_error(error: Error) -> PyErr {
    match error {
        Error::OutOfMemory { .. }
        | Error::NoSuchElement
        | Error::ElementMismatch { .. }
        | Error::AxesMismatch { .. }
        | Error::InvalidBits { .. }
        | Error::LenMismatch { .. }
        | Error::NotContiguous
        | Error::Overlapping
        | Error::ReadOnly
        | Error::TooManyBytes { .. }
        | Error::StreamOnHost
        | Error::StreamRefused { .. }
        | Error::StreamUntracked { .. } => error.into(),
        _ => PyBufferError::new_err(error.to_string()),
    }
}

/// The name of the attribute of an exception for a tensor without memory.
const WITHOUT_MEMORY: &str = "dlpack_without_memory";

/// Makes the exception for an invalid tensor, whose producer is in Python.
#[cold]
pub(super) fn invalid(error: Error) -> PyErr {
    let raised = exchange_error(error);
    if matches!(error, Error::NullData) {
        Python::attach(|py| {
            if let Err(error) = raised.value(py).setattr(WITHOUT_MEMORY, true) {
                discard(py, error);
            }
        });
    }
    raised
}

/// Whether an exception is about a tensor that has elements and no memory: freed memory of PyTorch,
/// for example, of which `numpy.asarray` makes an array of arbitrary values.
pub(super) fn is_without_memory(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    Ok(error.value(py).getattr_opt(WITHOUT_MEMORY)?.is_some())
}

impl From<ImportError> for PyErr {
    /// `TypeError` for a tensor of another dtype than those that the type accepts,
    /// `MemoryError` for a failed allocation, `ValueError` for every other reason: shape,
    /// layout, device, and what the type itself rejected. Only an exchange raises
    /// `BufferError`.
    fn from(error: ImportError) -> Self {
        let advise = |f: &mut fmt::Formatter<'_>, fix| f.write_str(&general(fix));
        let text = Advised { error: &error, advise }.to_string();
        import_error(error, text)
    }
}

/// Makes the exception of an import, with this text for a requirement that is not met.
pub(super) fn import_error(error: ImportError, text: String) -> PyErr {
    match error {
        ImportError::Tensor(error) => match error {
            Error::OutOfMemory { .. }
            | Error::ElementMismatch { .. }
            | Error::Misaligned { .. } => error.into(),
            Error::NoVariant { .. } => PyTypeError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        },
        ImportError::Mismatch(mismatch) if is_of_dtype(mismatch.unmet()) => {
            PyTypeError::new_err(text)
        }
        ImportError::Mismatch(_) => PyValueError::new_err(text),
        ImportError::Rejected(reason) => PyValueError::new_err(reason.into_string()),
    }
}

/// The expressions of NumPy and PyTorch for a fix; an empty text if neither has one. Those of one
/// library are in `import/advice.rs`.
#[cold]
fn general(fix: Fix) -> String {
    match fix {
        Fix::Cast(to) if is_of_numpy(to) => {
            format!("; convert with `.astype('{to}')` (NumPy) or `.to(torch.{to})` (PyTorch)")
        }
        Fix::Cast(to) if is_of_torch(to) => {
            format!("; convert with `.to(torch.{to})` (PyTorch)")
        }
        Fix::Cast(_) => String::new(),
        Fix::Contiguous(Order::RowMajor) => {
            "; pass `numpy.ascontiguousarray(x)` (NumPy) or `x.contiguous()` (PyTorch)".into()
        }
        Fix::Contiguous(Order::ColumnMajor) => "; pass `numpy.asfortranarray(x)` (NumPy)".into(),
    }
}

/// Makes the exception for a tensor whose elements are not aligned, for the caller that passed it.
#[cold]
pub(super) fn misaligned(dtype: DataType, align: usize, advice: &str) -> PyErr {
    PyValueError::new_err(format!(
        "expected {dtype} elements aligned to {align} bytes, got others; {advice}"
    ))
}

/// Whether a requirement is only about the type of the elements.
fn is_of_dtype(mismatch: &MismatchKind) -> bool {
    match mismatch {
        MismatchKind::DType { .. } => true,
        MismatchKind::Variant(variants) => variants.iter().all(|(_, error)| {
            matches!(error, ImportError::Mismatch(mismatch) if is_of_dtype(mismatch.unmet()))
        }),
        _ => false,
    }
}

/// Makes the exception for a panic of user code.
pub(super) fn panicked() -> PyErr {
    PyRuntimeError::new_err("the Rust code that describes this tensor panicked")
}

/// Returns the object of a call from Python.
///
/// # Safety
///
/// 1. The calling thread is attached, and stays so for `'py`; what is taken out of that
///    lifetime attaches before it touches Python.
/// 2. `object` is alive for `'a`.
#[inline(always)]
pub(super) unsafe fn attached_object<'a, 'py>(object: *mut PyObject) -> Borrowed<'a, 'py, PyAny> {
    // SAFETY: 1. Guaranteed by our caller's 1.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: guaranteed by our caller's 2.
    unsafe { Borrowed::from_ptr(py, object) }
}

/// Runs a closure attached to the interpreter, and catches its panic. Returns `None` if
/// PyO3 cannot attach; the closure has then not run.
pub(super) fn try_attach(run: impl FnOnce(Python<'_>)) -> Option<()> {
    catch_panic(|| Python::try_attach(run)).flatten()
}

/// Raises an error in Python, and leaves no deferred reference counts behind.
///
/// Python itself calls the methods of a class, so PyO3 has not recorded that this thread
/// is attached. It would put references that are dropped here into its list of pending
/// decrements until the next time a thread attaches through PyO3, and the list grows with
/// each rejected call. Attaching once more drops them at once.
#[cold]
pub(super) fn raise(py: Python<'_>, error: PyErr) {
    let mut error = Some(error);
    let attached = try_attach(|_| {
        if let Some(error) = error.take() {
            error.restore(py);
        }
    });
    // PyO3 does not attach inside a `__traverse__`, or while Python finalizes.
    if let (None, Some(error)) = (attached, error) {
        error.restore(py);
    }
}

/// Clears the pending exception, if there is one. A `PyErr` that is dropped instead may
/// leave a deferred reference count behind.
pub(super) fn clear(_: Python<'_>) {
    // SAFETY: this thread is attached.
    unsafe { pyo3::ffi::PyErr_Clear() };
}

/// Drops an error at once. [`raise`] explains why this needs more than `drop`.
pub(super) fn discard(py: Python<'_>, error: PyErr) {
    raise(py, error);
    clear(py);
}

/// Returns the value, or drops the error at once.
pub(super) fn ok_or_discard<T>(py: Python<'_>, result: PyResult<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            discard(py, error);
            None
        }
    }
}

/// Returns an exception, with another one as its cause.
pub(super) fn caused_by(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}

/// Whether an exception is not about the object whose code raised it: `MemoryError`,
/// `RecursionError`, and every one that is not an `Exception`, such as `KeyboardInterrupt` and
/// `SystemExit`. It always reaches the caller.
#[cold]
pub(super) fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyRecursionError>(py)
}

/// Whether a producer refused an export: a `TypeError`, `BufferError`, `RuntimeError` or
/// `ValueError`. A second attempt by other means may follow, and is chained to it.
#[cold]
pub(super) fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    let is_stated = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyRuntimeError>(py)
        || error.is_instance_of::<PyValueError>(py);
    is_stated && !is_exit(py, error)
}

/// Returns the value; `None` for an exception that does not reach the caller, which is dropped at once.
///
/// # Errors
///
/// An exception that reaches the caller.
pub(super) fn ok_unless<T>(
    py: Python<'_>,
    result: PyResult<T>,
    reaches_caller: impl FnOnce(&PyErr) -> bool,
) -> PyResult<Option<T>> {
    match result {
        Err(error) if reaches_caller(&error) => Err(error),
        result => Ok(ok_or_discard(py, result)),
    }
}

/// Returns the value that Python code of an object returned; `None` for an exception that is
/// not an exit ([`is_exit`]).
///
/// # Errors
///
/// Exits.
pub(super) fn ok_unless_exit<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<Option<T>> {
    ok_unless(py, result, |error| is_exit(py, error))
}

/// Returns an attribute that code read; `None` for an `AttributeError`.
///
/// # Errors
///
/// Any other exception.
pub(super) fn unless_missing<T>(py: Python<'_>, attribute: PyResult<T>) -> PyResult<Option<T>> {
    ok_unless(py, attribute, |error| !error.is_instance_of::<PyAttributeError>(py))
}

/// Converts a pair of integers to a device. Errors call the argument `what`.
pub(super) fn device(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Device> {
    let (device_type, device_id) = pair(value)?.ok_or_else(|| {
        expected(
            &format!("`{what}` must be a tuple (device_type, device_id), such as (1, 0)"),
            value,
        )
    })?;
    let part = |part: i64| {
        i32::try_from(part).map_err(|_| {
            PyBufferError::new_err(format!("no device has the number {part} in `{what}`"))
        })
    };
    Ok(Device::new(DLDeviceType(part(device_type)?), part(device_id)?))
}

/// Converts a tuple of two integers, or of members of an `IntEnum`.
///
/// # Errors
///
/// Those of [`integer`].
pub(super) fn pair(value: &Bound<'_, PyAny>) -> PyResult<Option<(i64, i64)>> {
    let pair = value.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
    let Some((first, second)) = ok_or_discard(value.py(), pair) else { return Ok(None) };
    let Some(first) = integer(&first)? else { return Ok(None) };
    Ok(integer(&second)?.map(|second| (first, second)))
}

/// Converts an integer. Integers beyond 64 bits saturate: no argument has a meaning
/// there.
///
/// # Errors
///
/// What the `__index__` of an object raises, if it is not an error about the type or the
/// size of the number.
pub(super) fn integer(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let py = value.py();
    match value.extract::<i64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            discard(py, error);
            let is_negative = unless_unfit(py, value.lt(0))?;
            Ok(is_negative.map(|negative| if negative { i64::MIN } else { i64::MAX }))
        }
        number => unless_unfit(py, number),
    }
}

/// Returns a converted value; `None` if the error is a `TypeError` or an `OverflowError`,
/// which say that the value does not fit.
///
/// # Errors
///
/// Any other error: Python code of the value raised it, and it is meant for the caller.
fn unless_unfit<T>(py: Python<'_>, converted: PyResult<T>) -> PyResult<Option<T>> {
    ok_unless(py, converted, |error| {
        !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py)
    })
}

pub(super) fn copy(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    ok_unless_exit(value.py(), value.extract::<bool>())?
        .ok_or_else(|| expected("`copy` must be True, False or None", value))
}

/// Makes a `TypeError` that states the expected and the given value.
#[cold]
pub(super) fn expected(what: &str, value: &Bound<'_, PyAny>) -> PyErr {
    match shown(value) {
        Ok(found) => PyTypeError::new_err(format!("{what}, not {found}")),
        Err(exit) => exit,
    }
}

/// The start of the `repr` of a value; the name of its type if its `repr` raises.
fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Some(text) = ok_unless_exit(value.py(), value.repr())? {
        return Ok(Bounded(&text.to_string_lossy()).to_string());
    }
    Ok(format!("an object of type {}", class_name(&value.get_type())?))
}

/// The name of a class with its module, bounded and in backticks.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(super) fn class_name(class: &Bound<'_, PyType>) -> PyResult<String> {
    let name = qualified_name(class)?;
    Ok(format!("`{}`", Bounded(name.as_deref().unwrap_or("?"))))
}

/// The name of a class, with its module if that is a text. That of PyO3 before Python 3.13 would print
/// interrupts.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(super) fn qualified_name(class: &Bound<'_, PyType>) -> PyResult<Option<String>> {
    let py = class.py();
    let Some(name) = ok_unless_exit(py, class.qualname())? else { return Ok(None) };
    let (name, module) = (name.to_string_lossy(), ok_unless_exit(py, class.module())?);
    let module = module.as_ref().map_or("builtins".into(), |module| module.to_string_lossy());
    Ok(Some(if module == "builtins" { name.into_owned() } else { format!("{module}.{name}") }))
}

/// The text of an object, as `str` makes it. `Display` of PyO3 would print an interrupt, and not raise it.
///
/// # Errors
///
/// Those of `str`.
pub(super) fn text(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.str()?.to_string_lossy().into_owned())
}

/// The text of an exception; empty if it has none.
///
/// # Errors
///
/// Those of [`ok_unless_exit`].
pub(super) fn error_text(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    Ok(ok_unless_exit(py, text(error.value(py)))?.unwrap_or_default())
}

/// A text from outside in a message: its first 100 characters.
pub(super) struct Bounded<'a>(pub(super) &'a str);

impl fmt::Display for Bounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(100) {
            None => f.write_str(self.0),
            Some((end, _)) => {
                f.write_str(self.0.get(..end).unwrap_or_default())?;
                f.write_str("...")
            }
        }
    }
}
