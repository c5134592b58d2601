//! The C struct and the C function of the buffer protocol: [`Buffer`], [`BufferFunction`].

use core::ffi::{c_char, c_int, c_void};

use pyo3::ffi::{Py_ssize_t, PyObject};

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

/// `getbufferproc`: fills the struct and returns 0, or returns -1 with an exception set.
pub(super) type GetBuffer = unsafe extern "C" fn(*mut PyObject, *mut Buffer, c_int) -> c_int;

/// A function of the buffer protocol that accepts every object, because it checks the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferFunction(GetBuffer);

impl BufferFunction {
    /// # Safety
    ///
    /// 1. Python may call the function as `bf_getbuffer` of any object.
    pub(super) const unsafe fn new(function: GetBuffer) -> Self {
        Self(function)
    }

    pub(super) const fn get(self) -> GetBuffer {
        self.0
    }
}
