//! Defines methods of classes as C functions, without `#[pymethods]`: [`Definition`], and the
//! arguments that CPython passes to them: [`Arguments`].

use alloc::format;
use core::ffi::{CStr, c_char, c_int};
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use pyo3::{Borrowed, ffi as py_ffi};

use crate::panic::catch_panic;
use crate::python::convert::{self, attached_object};

/// A method of a class. Its `call` may be called with each object: it checks the type.
pub(in crate::python) trait ObjectMethod {
    const NAME: &'static CStr;

    /// The signature and the documentation.
    const DOC: &'static CStr;

    /// Whether it is a class method, whose object is the class.
    const OF_CLASS: bool = false;

    fn call(
        object: Borrowed<'_, 'static, PyAny>,
        arguments: Arguments<'_>,
    ) -> PyResult<Bound<'static, PyAny>>;
}

/// The definition of a method, which is static, and whose function Python may call with each
/// object.
#[derive(Clone, Copy, Debug)]
pub(in crate::python) struct Definition {
    name: &'static CStr,
    method: *const py_ffi::PyMethodDef,
    of_class: bool,
}

impl Definition {
    pub(in crate::python) fn of<M: ObjectMethod>() -> Self {
        let method = const {
            &MethodDef {
                name: M::NAME.as_ptr(),
                function: call::<M> as FastcallWithKeywords,
                flags: METH_FASTCALL
                    | py_ffi::METH_KEYWORDS
                    | if M::OF_CLASS { py_ffi::METH_CLASS } else { 0 },
                doc: M::DOC.as_ptr(),
            }
        };
        Self { name: M::NAME, method: method.as_ptr(), of_class: M::OF_CLASS }
    }

    /// The definition of a method whose function is written by hand.
    ///
    /// # Safety
    ///
    /// 1. Python may call the function by the convention of its `MethodDef`, with each object.
    pub(in crate::python) unsafe fn by_hand<F>(
        name: &'static CStr,
        method: &'static MethodDef<F>,
    ) -> Self {
        Self { name, method: method.as_ptr(), of_class: false }
    }

    /// The name of the method.
    pub(in crate::python) fn name(self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// Adds the method to a class.
    ///
    /// # Errors
    ///
    /// Those of [`add_to_class`].
    pub(in crate::python) fn add_to(self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let (of, method) = (class.as_type_ptr(), self.method.cast_mut());
        let new =
            if self.of_class { py_ffi::PyDescr_NewClassMethod } else { py_ffi::PyDescr_NewMethod };
        // SAFETY: this thread is attached; the class is alive; the method is static, laid
        // out as a `PyMethodDef`, and only read.
        let descriptor = unsafe { new(of, method) };
        // SAFETY: this thread is attached, and the result is a new reference or NULL with an
        // exception set.
        let descriptor = unsafe { Bound::from_owned_ptr_or_err(class.py(), descriptor) }?;
        add_to_class(class, self.name(), descriptor)
    }
}

/// Calls a method.
///
/// # Safety
///
/// 1. Python calls it, by the convention of its `MethodDef`.
unsafe extern "C" fn call<M: ObjectMethod>(
    object: *mut py_ffi::PyObject,
    arguments: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    // SAFETY: 1. Guaranteed by our caller's 1.
    let arguments = unsafe { Arguments::new(arguments, positional, names) };
    finish(object.py(), || M::call(object, arguments).map(Bound::into_ptr))
}

/// A `PyMethodDef`, with the calling convention in its type.
///
/// PyO3 hides the field for this convention below the stable ABI of 3.10, although it has
/// not changed in CPython since 3.7.
#[repr(C)]
pub(in crate::python) struct MethodDef<F> {
    pub(in crate::python) name: *const c_char,
    pub(in crate::python) function: F,
    pub(in crate::python) flags: c_int,
    pub(in crate::python) doc: *const c_char,
}

pub(in crate::python) type FastcallWithKeywords = unsafe extern "C" fn(
    *mut py_ffi::PyObject,
    *const *mut py_ffi::PyObject,
    py_ffi::Py_ssize_t,
    *mut py_ffi::PyObject,
) -> *mut py_ffi::PyObject;

pub(in crate::python) type NoArguments =
    unsafe extern "C" fn(*mut py_ffi::PyObject, *mut py_ffi::PyObject) -> *mut py_ffi::PyObject;

/// `METH_FASTCALL`, which `pyo3::ffi` hides as it hides the field.
pub(in crate::python) const METH_FASTCALL: c_int = 0x80;

impl<F> MethodDef<F> {
    /// Returns the pointer for Python, which only reads it.
    const fn as_ptr(&'static self) -> *const py_ffi::PyMethodDef {
        (&raw const *self).cast()
    }
}

const _: () = {
    assert!(size_of::<MethodDef<NoArguments>>() == size_of::<py_ffi::PyMethodDef>());
    assert!(size_of::<MethodDef<FastcallWithKeywords>>() == size_of::<py_ffi::PyMethodDef>());
    assert!(align_of::<MethodDef<NoArguments>>() == align_of::<py_ffi::PyMethodDef>());
    assert!(offset_of!(MethodDef<NoArguments>, name) == offset_of!(py_ffi::PyMethodDef, ml_name));
    assert!(
        offset_of!(MethodDef<NoArguments>, function) == offset_of!(py_ffi::PyMethodDef, ml_meth)
    );
    assert!(offset_of!(MethodDef<NoArguments>, flags) == offset_of!(py_ffi::PyMethodDef, ml_flags));
    assert!(offset_of!(MethodDef<NoArguments>, doc) == offset_of!(py_ffi::PyMethodDef, ml_doc));
};

/// Sets an attribute of a class.
///
/// # Errors
///
/// `TypeError` for a class that is `immutable_type`.
pub(in crate::python) fn add_to_class(
    class: &Bound<'_, PyType>,
    name: &str,
    value: Bound<'_, PyAny>,
) -> PyResult<()> {
    class.setattr(name, value).map_err(|cause| {
        let class_name = class.name().map_or_else(|_| "?".into(), |name| format!("{name}"));
        let error = PyTypeError::new_err(format!(
            "`{name}` cannot be added to `{class_name}`: a class of tensors must not be \
             `immutable_type`"
        ));
        convert::caused_by(class.py(), error, cause)
    })
}

/// Converts the result of a method to what Python expects: an object, or NULL with an
/// exception set. It catches panics.
pub(in crate::python) fn finish(
    py: Python<'_>,
    method: impl FnOnce() -> PyResult<*mut py_ffi::PyObject>,
) -> *mut py_ffi::PyObject {
    match catch_panic(method).unwrap_or_else(|| Err(convert::panicked())) {
        Ok(object) => object,
        Err(error) => {
            convert::raise(py, error);
            ptr::null_mut()
        }
    }
}

/// The arguments of a call by `METH_FASTCALL | METH_KEYWORDS` that lasts for `'a`.
#[derive(Clone, Copy)]
pub(in crate::python) struct Arguments<'a> {
    values: *const *mut py_ffi::PyObject,
    positional: py_ffi::Py_ssize_t,
    names: *mut py_ffi::PyObject,
    call: PhantomData<&'a py_ffi::PyObject>,
}

impl<'a> Arguments<'a> {
    /// # Safety
    ///
    /// 1. They are those of such a call: `names` is a tuple or NULL, `values` holds
    ///    `positional` objects and then one for each name, and all live for `'a`.
    #[inline(always)]
    pub(in crate::python) unsafe fn new(
        values: *const *mut py_ffi::PyObject,
        positional: py_ffi::Py_ssize_t,
        names: *mut py_ffi::PyObject,
    ) -> Self {
        Self { values, positional, names, call: PhantomData }
    }

    /// Number of positional arguments.
    #[inline(always)]
    pub(in crate::python) fn positional(self) -> py_ffi::Py_ssize_t {
        self.positional
    }

    /// The tuple of keyword names; `None` without keywords.
    #[inline(always)]
    pub(in crate::python) fn names<'py>(self, py: Python<'py>) -> Option<Borrowed<'a, 'py, PyAny>> {
        // SAFETY: by 1 of `new` it is NULL, or lives for `'a`.
        unsafe { Borrowed::from_ptr_or_opt(py, self.names) }
    }

    /// The argument at an index: the positional ones, then those with names.
    ///
    /// # Safety
    ///
    /// 1. `index` is less than the number of all arguments.
    #[inline(always)]
    pub(in crate::python) unsafe fn value<'py>(
        self,
        py: Python<'py>,
        index: py_ffi::Py_ssize_t,
    ) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: by our caller's 1, and 1 of `new`, there is such a value.
        let value = unsafe { self.values.wrapping_offset(index).read() };
        // SAFETY: by 1 of `new` it lives for `'a`.
        unsafe { Borrowed::from_ptr(py, value) }
    }

    /// The positional arguments.
    pub(in crate::python) fn all_positional<'py>(
        self,
        py: Python<'py>,
    ) -> impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>> {
        // SAFETY: 1. The index is less than the number of positional arguments.
        (0..self.positional).map(move |index| unsafe { self.value(py, index) })
    }

    /// The argument of a call with exactly one positional argument.
    pub(in crate::python) fn only_positional<'py>(
        self,
        py: Python<'py>,
    ) -> Option<Borrowed<'a, 'py, PyAny>> {
        self.all_positional(py).next().filter(|_| self.positional == 1)
    }

    /// Calls `each` with the name and the value of each keyword.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub(in crate::python) fn for_each_keyword<'py>(
        self,
        py: Python<'py>,
        mut each: impl FnMut(&Bound<'py, PyAny>, Borrowed<'a, 'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        let Some(names) = self.names(py) else { return Ok(()) };
        let names = names.extract::<Bound<'py, PyTuple>>()?;
        for (name, index) in names.iter().zip(self.positional..) {
            // SAFETY: 1. There is a value for each name, after the positional ones.
            each(&name, unsafe { self.value(py, index) })?;
        }
        Ok(())
    }
}
