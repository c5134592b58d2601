//! A type of Python objects with one field and the buffer protocol: [`HeapType`].
//!
//! PyO3 supports the buffer protocol only where the stable ABI of 3.11 or no stable ABI was
//! requested, and this crate does not choose that.

use alloc::boxed::Box;
use core::ffi::{CStr, c_int, c_uint, c_ulong, c_void};
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi as py_ffi};

use super::buffer_struct::BufferFunction;
use crate::python::convert::attached;
use crate::python::interpreter::pending_exception::SavedError;

/// A type of Python objects that is created once, and whose objects have a field for a `V`.
/// Python code cannot create objects of it.
///
/// The value of an object does not change.
pub(super) struct HeapType<V> {
    class: PyOnceLock<Py<PyType>>,
    spec: Spec,
    field: PhantomData<fn() -> V>,
}

/// The properties of a [`HeapType`].
pub(super) struct Spec {
    pub(super) name: &'static CStr,
    /// The function of the buffer protocol.
    pub(super) get_buffer: BufferFunction,
}

/// An object of the type. Zero bytes in the field are `None`: Python allocates objects
/// with such bytes.
#[repr(C)]
struct Object<V> {
    head: py_ffi::PyObject,
    field: Field<V>,
}

type Field<V> = Option<Box<V>>;

#[allow(clippy::cast_possible_truncation, reason = "the flags of types are 32 bits")]
const FLAGS: c_uint = (py_ffi::Py_TPFLAGS_DEFAULT | DISALLOW_INSTANTIATION) as c_uint;

/// `Py_TPFLAGS_DISALLOW_INSTANTIATION`, which `pyo3::ffi` hides below the stable ABI of
/// 3.10. Older versions ignore it.
const DISALLOW_INSTANTIATION: c_ulong = 1 << 7;

/// `Py_bf_getbuffer`, which `pyo3::ffi` hides below the stable ABI of 3.11. Python accepts it
/// since 3.9.
const BF_GETBUFFER: c_int = 1;

impl<V: Send + Sync + 'static> HeapType<V> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "an object header and a pointer are a few words"
    )]
    const BASIC_SIZE: c_int = {
        assert!(offset_of!(Object<V>, field) >= size_of::<py_ffi::PyObject>());
        assert!(size_of::<Field<V>>() == size_of::<usize>());
        // `PyType_GenericAlloc` aligns objects to at least this.
        assert!(align_of::<Object<V>>() <= align_of::<u64>());
        size_of::<Object<V>>() as c_int
    };

    pub(super) const fn new(spec: Spec) -> Self {
        Self { class: PyOnceLock::new(), spec, field: PhantomData }
    }

    /// Makes an object with this value.
    pub(super) fn object<'py>(
        &'static self,
        py: Python<'py>,
        value: V,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = if let Some(class) = self.class.get(py) {
            class
        } else {
            // Created outside of the lock of the cell, because Python code may run meanwhile.
            let class = self.create_class(py)?;
            self.class.get_or_init(py, || class)
        };
        let value = Box::new(value);
        // SAFETY: this thread is attached, and the class is alive.
        let object = unsafe { py_ffi::PyType_GenericAlloc(class.as_ptr().cast(), 0) };
        // SAFETY: the result is a new reference, or NULL with an exception set.
        let object = unsafe { Bound::from_owned_ptr_or_err(py, object) }?;
        // SAFETY: the object is of this type, whose objects have this field, and no one else
        // has a reference to it. The allocation is zeroed, so no value is overwritten.
        unsafe { field_of::<V>(object.as_ptr()).write(Some(value)) };
        Ok(object)
    }

    /// Returns the value of an object; `None` for an object of another type, and for one that
    /// Python code created, as it can before 3.10.
    pub(super) fn value<'a>(&self, object: Borrowed<'a, '_, PyAny>) -> Option<&'a V> {
        let class = self.class.get(object.py())?;
        if object.get_type_ptr().cast() != class.as_ptr() {
            return None;
        }
        // SAFETY: the object is of this type, whose objects have this field. It is alive for
        // `'a`, and only `dealloc` changes the field.
        unsafe { &*field_of::<V>(object.as_ptr()) }.as_deref()
    }

    /// Creates the type of the objects.
    fn create_class(&self, py: Python<'_>) -> PyResult<Py<PyType>> {
        let free: py_ffi::destructor = dealloc::<V>;
        let get_buffer = self.spec.get_buffer.get();
        let mut slots = [
            py_ffi::PyType_Slot { slot: py_ffi::Py_tp_dealloc, pfunc: free as *mut c_void },
            py_ffi::PyType_Slot { slot: BF_GETBUFFER, pfunc: get_buffer as *mut c_void },
            py_ffi::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
        ];
        let mut spec = py_ffi::PyType_Spec {
            name: self.spec.name.as_ptr(),
            basicsize: Self::BASIC_SIZE,
            itemsize: 0,
            flags: FLAGS,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: this thread is attached; the slots end with a zero; the name is static, and
        // Python copies the rest. The type has the size of `Object<V>`, and a function that
        // frees objects of this size. A `BufferFunction` accepts
        // every object.
        let class = unsafe { py_ffi::PyType_FromSpec(&raw mut spec) };
        // SAFETY: the result is a new reference, or NULL with an exception set.
        let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?.cast_into::<PyType>()?;
        Ok(class.unbind())
    }
}

/// The address of the field of an object of a type with a field for a `V`.
fn field_of<V>(object: *mut py_ffi::PyObject) -> *mut Field<V> {
    object.wrapping_byte_add(offset_of!(Object<V>, field)).cast()
}

/// Frees an object, and drops its value.
///
/// # Safety
///
/// 1. Python calls it to free an object of a [`HeapType<V>`].
unsafe extern "C" fn dealloc<V>(object: *mut py_ffi::PyObject) {
    // SAFETY: 1. By 1 this thread is attached.
    let py: Python<'_> = unsafe { attached() };
    let pending = SavedError::set_aside(py);
    // SAFETY: by 1 the object has this field, and no one else has a reference to it. A
    // deleter catches the panics of an owner.
    unsafe { field_of::<V>(object).drop_in_place() };
    pending.restore(py);
    // SAFETY: by 1 the object is alive.
    let class = unsafe { py_ffi::Py_TYPE(object) };
    // SAFETY: `PyType_GenericAlloc` allocated it without a header of the garbage collector.
    unsafe { py_ffi::PyObject_Free(object.cast()) };
    // SAFETY: an object of a heap type owns a reference to its type.
    unsafe { py_ffi::Py_DECREF(class.cast()) };
}
