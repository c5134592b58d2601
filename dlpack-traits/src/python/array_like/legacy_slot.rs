//! The buffer protocol of a class before CPython 3.12: [`install`].
//!
//! Python sets the slot of the buffer protocol for a method `__buffer__` since 3.12 (PEP 688).
//! Before, only the creation of a type sets it, and PyO3 creates the type. The layout of a
//! type in 3.10 and 3.11 is in public headers and does not change any more, so the slot is
//! written there. The layout is compared with what Python itself reads from the type.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

use pyo3::ffi as py_ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::buffer_protocol::BufferFunction;
use super::buffer_struct::GetBuffer;

/// The first fields of a `PyTypeObject` in CPython 3.10 and 3.11, each one word.
#[repr(C)]
struct TypeHead {
    /// `ob_refcnt` to `tp_str`.
    before: [usize; 18],
    getattro: *mut c_void,
    setattro: *mut c_void,
    /// The `PyBufferProcs`, the first of which is `bf_getbuffer`.
    as_buffer: Option<NonNull<Slot>>,
}

/// `bf_getbuffer`.
type Slot = Cell<Option<GetBuffer>>;

/// Sets the slot, if the layout of the type is the expected one. Otherwise the class has no
/// buffer protocol.
pub(super) fn install(class: &Bound<'_, PyType>, function: BufferFunction) -> PyResult<()> {
    if !is_known(class.py()) {
        return Ok(());
    }
    let Some(slot) = slot_of(class) else { return Ok(()) };
    let base = class.getattr("__base__")?.cast_into::<PyType>()?;
    let inherited = slot_of(&base).and_then(Cell::get);
    // A function of the class itself is kept. That of a base is for the tensor of the base.
    if slot.get().map(address) == inherited.map(address) {
        slot.set(Some(function.get()));
    }
    Ok(())
}

/// Whether the interpreter is CPython 3.10 or 3.11, by `Py_GetVersion`: Python code can replace
/// the attributes of `sys`.
#[allow(deprecated, reason = "the new name of `version` is not in PyO3 0.27")]
fn is_known(py: Python<'_>) -> bool {
    let version = py.version_info();
    // A build that traces references, or has no GIL, has a longer header; so has PyPy.
    size_of::<py_ffi::PyObject>() == size_of::<[usize; 2]>()
        && ((3, 10)..(3, 12)).contains(&(version.major, version.minor))
        && !["PyPy", "Graal"].iter().any(|other| py.version().contains(other))
}

fn address(function: GetBuffer) -> usize {
    function as usize
}

/// Returns the slot of the buffer protocol in a type of these versions; `None` if the layout
/// of the type is not the expected one, and for a type without such a slot, as `object`.
fn slot_of<'a>(class: &'a Bound<'_, PyType>) -> Option<&'a Slot> {
    let head: *mut TypeHead = class.as_type_ptr().cast();
    // SAFETY: a `PyTypeObject` of these versions is larger than its head, and this thread is
    // attached, so no other thread writes it.
    let TypeHead { getattro, setattro, as_buffer, .. } = unsafe { head.read() };
    let slot = as_buffer?;
    if getattro != function_of(class, py_ffi::Py_tp_getattro)
        || setattro != function_of(class, py_ffi::Py_tp_setattro)
    {
        return None;
    }
    // SAFETY: by the comparison this is a type of the expected layout, whose slots live as long
    // as it does. Only attached threads use them, one at a time.
    Some(unsafe { slot.as_ref() })
}

/// Returns a function of a type, which Python itself reads.
fn function_of(class: &Bound<'_, PyType>, slot: c_int) -> *mut c_void {
    // SAFETY: this thread is attached, and the class, which is a heap type, is alive.
    unsafe { py_ffi::PyType_GetSlot(class.as_type_ptr(), slot) }
}
