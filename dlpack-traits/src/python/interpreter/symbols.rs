//! Looks up functions of CPython that PyO3 does not declare in every build: [`Symbols`].
//!
//! PyO3 declares neither `PyObject_VectorcallMethod` nor the functions that return the
//! thread state without a check for the stable ABI of Python 3.10, although every CPython
//! since 3.9 exports them. The dynamic linker looks them up by name, once. The lookup
//! uses no Python object (such as `ctypes.pythonapi`), because Python code can replace
//! any attribute of a module.
//!
//! Whether a thread is attached is read from its thread state and not from
//! `PyGILState_Check`, which returns true on every thread once a second interpreter was
//! created. Each function has a fallback for interpreters that do not export it.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use std::sync::OnceLock;

use pyo3::ffi::{PyObject, PyThreadState};

/// `PyObject_VectorcallMethod`, in the stable ABI since 3.12.
pub(in crate::python) type VectorcallMethod = unsafe extern "C" fn(
    name: *mut PyObject,
    arguments: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject;

type ThreadState = unsafe extern "C" fn() -> *mut PyThreadState;

/// The functions; `None` if the interpreter does not export them.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct Symbols {
    pub(in crate::python) vectorcall_method: Option<VectorcallMethod>,
    /// `PyThreadState_GetUnchecked`, or its name before 3.13.
    current: Option<ThreadState>,
    /// `PyGILState_GetThisThreadState`, which PyPy does not have.
    own: Option<ThreadState>,
}

static SYMBOLS: OnceLock<Symbols> = OnceLock::new();

impl Symbols {
    /// Returns the functions; the first call looks them up. Any thread may call it at
    /// any time, attached to the interpreter or not.
    #[inline]
    pub(in crate::python) fn get() -> &'static Self {
        SYMBOLS.get().unwrap_or_else(|| {
            // The lookup runs outside of the lock, so a fork is unlikely to find the lock
            // taken.
            let found = Self::find();
            SYMBOLS.get_or_init(|| found)
        })
    }

    #[cold]
    fn find() -> Self {
        let current =
            find(c"PyThreadState_GetUnchecked").or_else(|| find(c"_PyThreadState_UncheckedGet"));
        let own = find(c"PyGILState_GetThisThreadState");
        // SAFETY: the interpreter's function of this name has this type since 3.9.
        let vectorcall_method = find(c"PyObject_VectorcallMethod")
            .map(|address| unsafe { transmute::<*mut c_void, VectorcallMethod>(address) });
        // SAFETY: the interpreter's functions of these three names take no arguments and
        // return a pointer to a thread state.
        let state = |address| unsafe { transmute::<*mut c_void, ThreadState>(address) };
        Self { vectorcall_method, current: current.map(state), own: own.map(state) }
    }
}

/// Returns the address of an exported function, in the search order by which the dynamic
/// linker resolved PyO3's own declarations in this module.
#[cfg(unix)]
fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Returns the address of a function that the interpreter's library exports: the library
/// that contains the type object of `type`.
#[cfg(windows)]
fn find(name: &CStr) -> Option<*mut c_void> {
    use core::ffi::c_char;
    use core::ptr;

    /// `GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT`, and `.._FROM_ADDRESS`.
    const OF_ADDRESS: u32 = 2 | 4;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const u16, module: *mut *mut c_void) -> i32;
        fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    let inside = (&raw const pyo3::ffi::PyType_Type).cast();
    let mut library = ptr::null_mut();
    // SAFETY: the flags say that the second argument is an address inside a library, and
    // the result may be written.
    if unsafe { GetModuleHandleExW(OF_ADDRESS, inside, &raw mut library) } == 0 {
        return None;
    }
    // SAFETY: the library is loaded for as long as this module, which links to it, and
    // the name is a C string.
    let address = unsafe { GetProcAddress(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Returns `None` on platforms without a supported dynamic linker; callers use their
/// fallbacks.
#[cfg(not(any(unix, windows)))]
fn find(_: &CStr) -> Option<*mut c_void> {
    None
}

/// Returns whether this thread is attached to the interpreter. Any thread may call it at
/// any time.
///
/// It returns `false` for threads attached to a subinterpreter, and for all threads if
/// the interpreter does not export the two functions.
#[inline]
pub(in crate::python) fn is_attached() -> bool {
    attached_to_first() == Some(true)
}

/// Returns whether this thread is attached to the first interpreter; `None` if the interpreter
/// does not export the two functions. Any thread may call it at any time.
#[inline]
pub(in crate::python) fn attached_to_first() -> Option<bool> {
    let &Symbols { current: Some(current), own: Some(own), .. } = Symbols::get() else {
        return None;
    };
    // SAFETY: any thread may call it at any time. Up to 3.11 it returns the state of the
    // thread that holds the GIL, which may be another thread.
    let current = unsafe { current() };
    // SAFETY: any thread may call it at any time; it returns NULL without an interpreter.
    Some(!current.is_null() && current == unsafe { own() })
}
