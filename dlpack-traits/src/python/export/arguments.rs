//! The arguments that CPython passes to a method: [`Arguments`].

use core::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, ffi as py_ffi};

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
