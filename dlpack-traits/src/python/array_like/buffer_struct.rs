//! The C struct and the C functions of the buffer protocol: [`Buffer`], [`BufferFunctions`].

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

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
