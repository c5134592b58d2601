//! The C struct and the C functions of the buffer protocol ([`Buffer`], [`BufferFunctions`]), and
//! the slots of a class that get them ([`install`]).
//!
//! PyO3 has created the class before, so its slots are set afterwards:
//!
//! - From CPython 3.12 on, a class with the functions becomes the first base of the class, and
//!   Python itself sets the slots, also those of subclasses. A method `__buffer__` written for the
//!   class would be called through a wrapper of Python, which forgets the memory when the consumer
//!   releases the buffer, and that runs with whatever exception is pending.
//! - Before, only the creation of a type sets these slots. The layout of a type in 3.10 and 3.11
//!   is in public headers and does not change any more, so they are written there. The layout is
//!   compared with what Python itself reads from the type.

use alloc::vec::Vec;
use core::cell::Cell;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::iter;
use core::ptr::{self, NonNull};

use pyo3::ffi::{self as py_ffi, Py_ssize_t, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// `Py_buffer`, which `pyo3::ffi` hides below the stable ABI of 3.11, although it has not
/// changed in CPython since 3.3.
///
/// PyPy has more fields after these, which only its own functions use.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) buf: *mut c_void,
    /// A reference to the exporter, which the consumer releases once.
    pub(super) obj: *mut PyObject,
    pub(super) len: Py_ssize_t,
    pub(super) itemsize: Py_ssize_t,
    pub(super) readonly: c_int,
    pub(super) ndim: c_int,
    pub(super) format: *const c_char,
    pub(super) shape: *const Py_ssize_t,
    pub(super) strides: *const Py_ssize_t,
    pub(super) suboffsets: *const Py_ssize_t,
    pub(super) internal: *mut c_void,
}

impl Buffer {
    /// The struct of a failed request.
    pub(super) const EMPTY: Self = Self {
        buf: ptr::null_mut(),
        obj: ptr::null_mut(),
        len: 0,
        itemsize: 0,
        readonly: 0,
        ndim: 0,
        format: ptr::null(),
        shape: ptr::null(),
        strides: ptr::null(),
        suboffsets: ptr::null(),
        internal: ptr::null_mut(),
    };
}

/// `getbufferproc`: fills the struct and returns 0, or returns -1 with an exception set.
pub(super) type GetBuffer = unsafe extern "C" fn(*mut PyObject, *mut Buffer, c_int) -> c_int;

/// `releasebufferproc`: called before the reference in the struct is dropped.
pub(super) type ReleaseBuffer = unsafe extern "C" fn(*mut PyObject, *mut Buffer);

/// The functions of a class. They accept every object, because they check the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferFunctions {
    pub(super) get: GetBuffer,
    /// It is set even where nothing is left to do. Of an object whose class has none, NumPy keeps
    /// the address after the release, as if the memory could not change while the object lives.
    pub(super) release: ReleaseBuffer,
}

/// `Py_bf_getbuffer` and `Py_bf_releasebuffer`, which `pyo3::ffi` hides below the stable ABI of
/// 3.11. Python accepts them since 3.9.
const BF_GETBUFFER: c_int = 1;
const BF_RELEASEBUFFER: c_int = 2;

/// Sets the functions of a class that does not define such functions itself. An interpreter
/// that is not known to support this leaves the class without the buffer protocol.
pub(super) fn install(class: &Bound<'_, PyType>, functions: BufferFunctions) -> PyResult<()> {
    let py = class.py();
    let Some(version) = version(py).filter(|version| *version >= (3, 10)) else { return Ok(()) };
    // A function of the class itself is kept. That of a base is for the tensor of the base.
    let own = function_of(class, BF_GETBUFFER);
    let base = class.getattr(intern!(py, "__base__"))?.cast_into::<PyType>()?;
    if own == functions.get as *mut c_void || own != function_of(&base, BF_GETBUFFER) {
        return Ok(());
    }
    if version >= (3, 12) {
        return inherit(class, functions);
    }
    if let Some(slots) = slots_of(class) {
        slots.get.set(Some(functions.get));
        slots.release.set(Some(functions.release));
    }
    Ok(())
}

/// Adds a class with the functions to the bases of a class.
fn inherit(class: &Bound<'_, PyType>, functions: BufferFunctions) -> PyResult<()> {
    let py = class.py();
    let bases = intern!(py, "__bases__");
    let others = class.getattr(bases)?.cast_into::<PyTuple>()?;
    let all = iter::once(class_with(py, functions)?).chain(others.iter()).collect::<Vec<_>>();
    class.setattr(bases, PyTuple::new(py, all)?)
}

/// Creates a class with the functions of the buffer protocol.
///
/// PyO3 supports the buffer protocol only where the stable ABI of 3.11 or no stable ABI was
/// requested, and this crate does not choose that.
#[allow(clippy::cast_possible_truncation, reason = "the flags of types are 32 bits")]
fn class_with(py: Python<'_>, functions: BufferFunctions) -> PyResult<Bound<'_, PyAny>> {
    let mut slots = [
        py_ffi::PyType_Slot { slot: BF_GETBUFFER, pfunc: functions.get as *mut c_void },
        py_ffi::PyType_Slot { slot: BF_RELEASEBUFFER, pfunc: functions.release as *mut c_void },
        py_ffi::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
    ];
    let mut spec = py_ffi::PyType_Spec {
        name: c"dlpack_traits.BufferProtocol".as_ptr(),
        // That of the base, `object`.
        basicsize: 0,
        itemsize: 0,
        flags: (py_ffi::Py_TPFLAGS_DEFAULT | py_ffi::Py_TPFLAGS_BASETYPE) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: this thread is attached; the slots end with a zero; the name is static, and
    // Python copies the rest. The functions accept every object.
    let class = unsafe { py_ffi::PyType_FromSpec(&raw mut spec) };
    // SAFETY: the result is a new reference, or NULL with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, class) }
}

/// The first fields of a `PyTypeObject` in CPython 3.10 and 3.11, each one word.
#[repr(C)]
struct TypeHead {
    /// `ob_refcnt` to `tp_str`.
    before: [usize; 18],
    getattro: *mut c_void,
    setattro: *mut c_void,
    as_buffer: Option<NonNull<Slots>>,
}

/// `PyBufferProcs`.
#[repr(C)]
struct Slots {
    get: Cell<Option<GetBuffer>>,
    release: Cell<Option<ReleaseBuffer>>,
}

/// Returns the slots of the buffer protocol in a type of these versions; `None` if the layout
/// of the type is not the expected one.
fn slots_of<'a>(class: &'a Bound<'_, PyType>) -> Option<&'a Slots> {
    // A build that traces references has a longer header.
    if size_of::<py_ffi::PyObject>() != size_of::<[usize; 2]>() {
        return None;
    }
    let head: *mut TypeHead = class.as_type_ptr().cast();
    // SAFETY: a `PyTypeObject` of these versions is larger than its head, and this thread is
    // attached, so no other thread writes it.
    let TypeHead { getattro, setattro, as_buffer, .. } = unsafe { head.read() };
    let slots = as_buffer?;
    if getattro != function_of(class, py_ffi::Py_tp_getattro)
        || setattro != function_of(class, py_ffi::Py_tp_setattro)
    {
        return None;
    }
    // SAFETY: by the comparison this is a type of the expected layout, whose slots live as long
    // as it does. Only attached threads use them, one at a time.
    Some(unsafe { slots.as_ref() })
}

/// Returns a function of a type, which Python itself reads.
fn function_of(class: &Bound<'_, PyType>, slot: c_int) -> *mut c_void {
    // SAFETY: this thread is attached, and the class is alive.
    unsafe { py_ffi::PyType_GetSlot(class.as_type_ptr(), slot) }
}

/// The version of CPython, by `Py_GetVersion`: Python code can replace the attributes of `sys`.
/// `None` for another interpreter.
#[allow(deprecated, reason = "the new name of `version` is not in PyO3 0.27")]
fn version(py: Python<'_>) -> Option<(u8, u8)> {
    let other = ["PyPy", "Graal"].iter().any(|other| py.version().contains(other));
    let version = py.version_info();
    (!other).then_some((version.major, version.minor))
}
