//! The C struct of NumPy's arrays: [`ArrayObject`].

use core::ffi::{c_int, c_void};

use pyo3::ffi::PyObject;

/// `PyArrayObject_fields` of NumPy 1.22 and later, in an interpreter with a GIL.
///
/// Without a GIL the header of an object is larger, and another thread may change the shape of
/// an array while it is read. Such arrays are exported by their `__dlpack__`. So are those of
/// PyPy, and of versions of NumPy with other fields: the size of the struct is compared with
/// that of the class.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct ArrayObject {
    /// The reference count and the class.
    head: [usize; 2],
    pub(super) data: *mut u8,
    pub(super) ndim: c_int,
    /// The size of each dimension.
    pub(super) shape: *const isize,
    /// In bytes.
    pub(super) strides: *const isize,
    /// The object that keeps the memory alive; NULL if the array does.
    pub(super) base: *mut PyObject,
    pub(super) dtype: *mut PyObject,
    pub(super) flags: c_int,
    weak_references: *mut c_void,
    buffer_info: *mut c_void,
    allocator: *mut c_void,
}
