//! A consumer that takes a tensor out of its capsule, and releases it when, where and how
//! the test requests.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use core::time::Duration;
use std::ffi::CString;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use dlpack_traits::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::counted;
use crate::thread_exit::at_thread_exit;

/// Takes the tensor out of a capsule, as consumers do: the capsule is renamed.
#[pyfunction]
pub(crate) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
    let py = capsule.py();
    for (name, used, versioned) in [
        (c"dltensor_versioned", c"used_dltensor_versioned", true),
        (c"dltensor", c"used_dltensor", false),
    ] {
        // SAFETY: this thread is attached, and the object is alive.
        if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
            continue;
        }
        // SAFETY: the capsule is valid under this name.
        let managed = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        // SAFETY: the capsule is valid, and the name is static.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        return Ok(Taken { managed: AtomicPtr::new(managed), versioned });
    }
    Err(PyValueError::new_err("not a capsule with an unused DLPack tensor"))
}

/// Gives a capsule another name, from a string that stays.
#[pyfunction]
pub(crate) fn set_name(capsule: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let name = CString::new(name)?.into_raw();
    // SAFETY: this thread is attached, and the name is never freed.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(())
}

/// A tensor that was taken out of its capsule. It leaks unless it is released.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Taken {
    managed: AtomicPtr<c_void>,
    versioned: bool,
}

/// A struct whose deleter has yet to be called.
struct Pending {
    managed: *mut c_void,
    versioned: bool,
}

// SAFETY: the standard lets any thread call a deleter.
unsafe impl Send for Pending {}

impl Pending {
    fn delete(self) {
        if self.versioned {
            let managed = self.managed.cast::<DLManagedTensorVersioned>();
            // SAFETY: it was taken out of a capsule and not released since.
            let deleter = unsafe { (*managed).deleter };
            let Some(deleter) = deleter else { return };
            // SAFETY: as above, and this is the only call.
            unsafe { deleter(managed) };
        } else {
            let managed = self.managed.cast::<DLManagedTensor>();
            // SAFETY: it was taken out of a capsule and not released since.
            let deleter = unsafe { (*managed).deleter };
            let Some(deleter) = deleter else { return };
            // SAFETY: as above, and this is the only call.
            unsafe { deleter(managed) };
        }
    }
}

/// Calls a deleter where Python must not be touched: while the garbage collector
/// traverses its object.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Traversed(Mutex<Option<Pending>>);

#[pymethods]
impl Traversed {
    #[expect(clippy::unnecessary_wraps, reason = "PyO3 asks for a result")]
    fn __traverse__(&self, _visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(pending) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            pending.delete();
        }
        Ok(())
    }
}

impl Taken {
    /// The struct, once.
    fn pending(&self) -> PyResult<Pending> {
        let managed = self.managed.swap(core::ptr::null_mut(), Ordering::SeqCst);
        if managed.is_null() {
            return Err(PyRuntimeError::new_err("the tensor was released before"));
        }
        Ok(Pending { managed, versioned: self.versioned })
    }

    /// Returns the versioned struct, once, to a consumer that calls its deleter.
    pub(crate) fn give(&self) -> PyResult<*mut DLManagedTensorVersioned> {
        assert!(self.versioned, "a versioned capsule was taken");
        Ok(self.pending()?.managed.cast())
    }
}

#[pymethods]
impl Taken {
    /// Address of the struct; 0 once it is released.
    #[getter]
    fn address(&self) -> usize {
        self.managed.load(Ordering::SeqCst).addr()
    }

    /// Whether the struct has a version.
    #[getter]
    fn versioned(&self) -> bool {
        self.versioned
    }

    /// Calls the deleter on this thread, which holds the GIL.
    fn delete(&self) -> PyResult<()> {
        self.pending().map(Pending::delete)
    }

    /// Calls the deleter on this thread, which does not hold the GIL meanwhile.
    fn delete_detached(&self) -> PyResult<()> {
        let pending = self.pending()?;
        detached(|| pending.delete());
        Ok(())
    }

    /// Leaves the deleter to the end of this thread.
    fn delete_at_thread_exit(&self) -> PyResult<()> {
        let pending = self.pending()?;
        at_thread_exit(|| pending.delete());
        Ok(())
    }

    /// Leaves the deleter to the garbage collector, in the midst of its work.
    fn delete_when_traversed(&self) -> PyResult<Traversed> {
        Ok(Traversed(Mutex::new(Some(self.pending()?))))
    }

    /// Calls the deleter on a thread that Python has never seen.
    fn delete_in_background(&self) -> PyResult<Background> {
        let pending = self.pending()?;
        let (sender, finished) = channel();
        let thread = std::thread::spawn(move || {
            pending.delete();
            let _ = sender.send(());
        });
        Ok(Background(Mutex::new((finished, Some(thread)))))
    }

    /// Calls the deleters of many tensors on a thread without a Python thread state, one
    /// after the other, with a pause before each. The caller does not wait for it.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 makes no slices of lists")]
    fn delete_slowly(many: Vec<PyRef<'_, Taken>>, pause: f64) -> PyResult<()> {
        let pause = Duration::from_secs_f64(pause);
        let many = many.iter().map(|taken| taken.pending()).collect::<PyResult<Vec<_>>>()?;
        std::thread::spawn(move || {
            for pending in many {
                std::thread::sleep(pause);
                pending.delete();
            }
        });
        Ok(())
    }

    /// Calls the deleter when the process exits, after Python is gone, and
    /// then prints how many counted storages are left.
    fn delete_at_process_exit(&self) -> PyResult<()> {
        let pending = self.pending()?;
        AT_EXIT.lock().unwrap_or_else(PoisonError::into_inner).push(pending);
        if !REGISTERED.swap(true, Ordering::SeqCst) {
            // SAFETY: the function may be called at exit: Python does not
            // unload extension modules.
            unsafe { atexit(delete_all) };
        }
        Ok(())
    }
}

static AT_EXIT: Mutex<Vec<Pending>> = Mutex::new(Vec::new());
static REGISTERED: AtomicBool = AtomicBool::new(false);

// As the C standard declares it.
unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn delete_all() {
    // SAFETY: may be called at any time.
    let python = unsafe { ffi::Py_IsInitialized() };
    let many = AT_EXIT.lock().map(|mut many| core::mem::take(&mut *many)).unwrap_or_default();
    let count = many.len();
    many.into_iter().for_each(Pending::delete);
    println!("python {python}, deleted {count}, live {}", counted::live());
}

/// A deleter that runs on another thread.
#[pyclass(frozen, module = "dlpack_testing")]
pub(crate) struct Background(Mutex<(Receiver<()>, Option<JoinHandle<()>>)>);

#[pymethods]
impl Background {
    /// Waits until the deleter is done, holding the GIL or not; false if it is
    /// not done within that many seconds.
    #[pyo3(signature = (seconds, *, holding_gil))]
    fn wait(&self, seconds: f64, holding_gil: bool) -> bool {
        let wait = || {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0.recv_timeout(Duration::from_secs_f64(seconds)).is_err() {
                return false;
            }
            // The thread's own allocations must be freed as well.
            state.1.take().is_none_or(|thread| thread.join().is_ok())
        };
        if holding_gil { wait() } else { detached(wait) }
    }
}

/// Runs a closure without the GIL, which this thread holds before and after.
///
/// PyO3 renamed its own function for this within the range of versions that
/// these tests are built with, and in the oldest of them it aborts where a
/// daemon thread attaches again while Python finalizes. `PyGILState_Ensure` parks
/// such a thread in all of them, and must not be called any later. It is never
/// undone: a thread ends however often it was called.
pub(crate) fn detached<R>(run: impl FnOnce() -> R) -> R {
    // SAFETY: this thread is attached: a method called from Python calls this.
    unsafe { ffi::PyEval_SaveThread() };
    let result = run();
    // SAFETY: may be called at any time.
    while unsafe { ffi::Py_IsInitialized() } == 0 {
        std::thread::park();
    }
    // SAFETY: the interpreter is initialized, and this thread's state is known.
    unsafe { ffi::PyGILState_Ensure() };
    result
}
