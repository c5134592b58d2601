//! C functions that are called while an exception is set.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::with_exposed_provenance_mut;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Deleter = unsafe extern "C" fn(*mut c_void);
type Convert = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Stream = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;
type GetBuffer = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> c_int;
type Allocate = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;

/// Raises `error`, calls the function at an address with addresses, and returns its code
/// and the exception that is set then. With one argument it is a deleter, with two a
/// function of an exchange table that takes or makes an object, with three
/// `current_work_stream`, or the function of a buffer, with four the allocator.
#[pyfunction]
#[pyo3(signature = (error, function, arguments, of_buffer=false))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 makes a `Vec` of a list")]
pub(crate) fn call_while_raising(
    py: Python<'_>,
    error: Bound<'_, PyAny>,
    function: usize,
    arguments: Vec<usize>,
    of_buffer: bool,
) -> PyResult<(c_int, Option<PyErr>)> {
    let function = with_exposed_provenance_mut::<c_void>(function);
    let at = |index: usize| {
        with_exposed_provenance_mut::<c_void>(arguments.get(index).copied().unwrap_or_default())
    };
    let number = |index: usize| {
        c_int::try_from(arguments.get(index).copied().unwrap_or_default()).unwrap_or_default()
    };
    PyErr::from_value(error).restore(py);
    let code = match arguments.len() {
        1 => {
            // SAFETY: the test guarantees that it is a function of this type.
            let function = unsafe { transmute::<*mut c_void, Deleter>(function) };
            // SAFETY: the test guarantees that it may be called with this argument.
            unsafe { function(at(0)) };
            0
        }
        2 => {
            // SAFETY: as above.
            let function = unsafe { transmute::<*mut c_void, Convert>(function) };
            // SAFETY: as above.
            unsafe { function(at(0), at(1)) }
        }
        3 if of_buffer => {
            // SAFETY: as above.
            let function = unsafe { transmute::<*mut c_void, GetBuffer>(function) };
            // SAFETY: as above.
            unsafe { function(at(0), at(1), number(2)) }
        }
        3 => {
            // SAFETY: as above.
            let function = unsafe { transmute::<*mut c_void, Stream>(function) };
            // SAFETY: as above.
            unsafe { function(number(0), number(1), at(2)) }
        }
        4 => {
            // SAFETY: as above.
            let function = unsafe { transmute::<*mut c_void, Allocate>(function) };
            // SAFETY: as above.
            unsafe { function(at(0), at(1), at(2), at(3)) }
        }
        _ => return Err(PyValueError::new_err("there is no such function")),
    };
    Ok((code, PyErr::take(py)))
}
