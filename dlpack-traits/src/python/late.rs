//! Functions of Python that PyO3 does not declare in every build, looked up once.
//!
//! `ctypes.pythonapi` is Python's own way to them, the same on every system.
//! Where it is missing, or a function is, callers do without.

use core::ffi::c_void;
use core::mem::transmute;
use std::sync::OnceLock;

use pyo3::ffi::{PyObject, PyThreadState};
use pyo3::prelude::*;

use super::convert::quietly;

/// `PyObject_VectorcallMethod`, in the stable ABI since 3.12.
pub(super) type VectorcallMethod = unsafe extern "C" fn(
    name: *mut PyObject,
    arguments: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject;

type ThreadState = unsafe extern "C" fn() -> *mut PyThreadState;

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) vectorcall_method: Option<VectorcallMethod>,
    /// Whether no two threads of Python ever run at once.
    pub(super) has_gil: bool,
    /// `PyThreadState_GetUnchecked`, or its name before 3.13.
    current: Option<ThreadState>,
    /// `PyGILState_GetThisThreadState`, which PyPy does not have.
    own: Option<ThreadState>,
}

static LATE: OnceLock<Late> = OnceLock::new();

impl Late {
    /// Looks the functions up, the first time.
    #[inline]
    pub(super) fn get(py: Python<'_>) -> &'static Self {
        LATE.get().unwrap_or_else(|| {
            // Not inside of the lock: the look-up runs Python code, and another
            // thread may need the interpreter to get to the lock.
            let found = Self::find(py);
            LATE.get_or_init(|| found)
        })
    }

    #[cold]
    fn find(py: Python<'_>) -> Self {
        let current = address(py, "PyThreadState_GetUnchecked")
            .or_else(|| address(py, "_PyThreadState_UncheckedGet"));
        let own = address(py, "PyGILState_GetThisThreadState");
        // SAFETY: since 3.9 this is the function of that name.
        let vectorcall_method = address(py, "PyObject_VectorcallMethod")
            .map(|address| unsafe { transmute::<*mut c_void, VectorcallMethod>(address) });
        // SAFETY: the functions of these names take nothing and return a state.
        let state = |address| unsafe { transmute::<*mut c_void, ThreadState>(address) };
        let has_gil = has_gil(py);
        Self { vectorcall_method, has_gil, current: current.map(state), own: own.map(state) }
    }
}

/// Whether the interpreter has a GIL for good: all have up to 3.12, which do not have
/// the function.
///
/// That it is in use now says nothing of later. An interpreter that was built to go
/// without has one while any extension module is being imported, by this thread or
/// another, and this is asked once. So it counts as one that has none, which costs a
/// lock where there need be none. So does one of which nothing can be learned.
fn has_gil(py: Python<'_>) -> bool {
    let Ok(sys) = py.import("sys") else { return false };
    let Some(now) = quietly(py, sys.getattr("_is_gil_enabled")) else { return true };
    let ask = || -> PyResult<bool> {
        if !now.call0()?.extract::<bool>()? {
            return Ok(false);
        }
        let built_without = py
            .import("sysconfig")?
            .call_method1("get_config_var", ("Py_GIL_DISABLED",))?
            .extract::<Option<u32>>()?;
        Ok(built_without.unwrap_or(0) == 0)
    };
    quietly(py, ask()).unwrap_or(false)
}

/// The address of a function of Python.
fn address(py: Python<'_>, name: &str) -> Option<*mut c_void> {
    let find = || -> PyResult<usize> {
        let ctypes = py.import("ctypes")?;
        let function = ctypes.getattr("pythonapi")?.getattr(name)?;
        let pointer = ctypes.call_method1("cast", (function, ctypes.getattr("c_void_p")?))?;
        pointer.getattr("value")?.extract()
    };
    let address = quietly(py, find()).filter(|&address| address != 0)?;
    Some(core::ptr::with_exposed_provenance_mut(address))
}

/// Whether this thread is known to be attached to the interpreter. May be asked
/// at any time, on any thread.
///
/// "No" for certain threads that are: those of other interpreters, and all of
/// them before anything was imported.
#[inline]
pub(super) fn is_attached() -> bool {
    let Some(&Late { current: Some(current), own: Some(own), .. }) = LATE.get() else {
        return false;
    };
    // SAFETY: may be called at any time. Up to 3.11 it is the state of the
    // thread that holds the GIL, whichever that is.
    let current = unsafe { current() };
    // SAFETY: may be called at any time: NULL where there is no interpreter.
    !current.is_null() && current == unsafe { own() }
}
