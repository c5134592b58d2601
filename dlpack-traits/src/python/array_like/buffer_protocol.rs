//! The buffer protocol of array-like classes: [`BufferMethod`], [`BufferFunction`].
//!
//! A class that PyO3 created has no function of the buffer protocol, and an object may change
//! its memory while a consumer uses a buffer. Therefore each request of a buffer exports the
//! tensor into an object of this module. It owns the tensor, and implements the protocol. The
//! consumer has a reference to it until it releases the buffer.
//!
//! From CPython 3.12 on, the class has a method `__buffer__` (PEP 688), for which Python
//! itself sets the slot of the type. Before, [`legacy_slot`](super::legacy_slot) sets it.

use core::ffi::{CStr, c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self as py_ffi, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyMemoryView, PyTuple, PyType};

use super::array_class::{ArrayClass, with_tensor};
use super::buffer_struct::{Buffer, GetBuffer};
use super::exporter::{Exporter, format_of};
use super::method::{Method, Object, Returned};
use crate::panic::catch_panic;
use crate::python::convert::{self, attached_object};
use crate::python::export::arguments::Arguments;
use crate::python::export::export_class::ExportClass;

/// `__buffer__`, of CPython 3.12 and later.
pub(super) struct BufferMethod;

impl Method for BufferMethod {
    const NAME: &'static CStr = c"__buffer__";
    const DOC: &'static CStr =
        c"__buffer__($self, flags, /)\n--\n\nReturn a memoryview of the tensor.";

    fn call(object: Object<'_>, _: Arguments<'_>, class: &'static ArrayClass) -> Returned {
        // Python requests the buffer of this view with its own flags.
        let exporter = exporter_of(object, class)?;
        Ok(PyMemoryView::from(&exporter)?.into_any())
    }
}

/// Exports the tensor of an object into a new object with the buffer protocol.
///
/// # Errors
///
/// `BufferError` for memory that is not on the host; `TypeError` for a dtype without a code in
/// the buffer protocol; those of an export.
pub(super) fn exporter_of(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ArrayClass,
) -> PyResult<Bound<'static, PyAny>> {
    // Before the export, which waits for a device.
    let (device, dtype) = with_tensor(object, class, |view| Ok((view.device(), view.dtype())))?;
    format_of(device, dtype)?;
    let exporter = Bound::new(object.py(), Exporter::new((class.export)(object)?)?)?;
    buffer_class(object.py())?.call1((exporter,))
}

/// The base of the class of objects with the buffer protocol. Python code cannot create such
/// objects, because it has no [`Exporter`].
#[pyclass(frozen, subclass, module = "dlpack_traits", name = "BufferBase")]
struct BufferBase {
    exporter: Py<Exporter>,
}

#[pymethods]
impl BufferBase {
    #[new]
    const fn new(exporter: Py<Exporter>) -> Self {
        Self { exporter }
    }
}

/// The class of objects with the buffer protocol.
static BUFFER_CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `Py_bf_getbuffer`, which `pyo3::ffi` hides below the stable ABI of 3.11. Python accepts it
/// since 3.9.
const BF_GETBUFFER: c_int = 1;

/// Returns the class of objects with the buffer protocol: [`BufferBase`] with the function of
/// the protocol.
///
/// PyO3 supports the buffer protocol only where the stable ABI of 3.11 or no stable ABI was
/// requested, and this crate does not choose that.
fn buffer_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    if let Some(class) = BUFFER_CLASS.get(py) {
        return Ok(class.bind(py));
    }
    // Created outside of the lock of the cell, because Python code may run meanwhile.
    let get_buffer: GetBuffer = get_buffer::<Itself>;
    let mut slots = [
        py_ffi::PyType_Slot { slot: BF_GETBUFFER, pfunc: get_buffer as *mut c_void },
        py_ffi::PyType_Slot { slot: 0, pfunc: ptr::null_mut() },
    ];
    let mut spec = py_ffi::PyType_Spec {
        name: c"dlpack_traits.Buffer".as_ptr(),
        // That of the base.
        basicsize: 0,
        itemsize: 0,
        flags: FLAGS,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [py.get_type::<BufferBase>()])?;
    // SAFETY: this thread is attached; the slots end with a zero; the name is static, and
    // Python copies the rest. The function accepts every object.
    let class = unsafe { py_ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()) };
    // SAFETY: the result is a new reference, or NULL with an exception set.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?.cast_into::<PyType>()?;
    Ok(BUFFER_CLASS.get_or_init(py, || class.unbind()).bind(py))
}

#[allow(clippy::cast_possible_truncation, reason = "the flags of types are 32 bits")]
const FLAGS: c_uint = py_ffi::Py_TPFLAGS_DEFAULT as c_uint;

/// A function of the buffer protocol that accepts every object, because it checks the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferFunction(GetBuffer);

impl BufferFunction {
    /// Returns the function for objects that have an exporter.
    pub(super) const fn of<S: Source>() -> Self {
        Self(get_buffer::<S>)
    }

    pub(super) const fn get(self) -> GetBuffer {
        self.0
    }
}

/// The way from an object to its exporter.
pub(super) trait Source {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>>;
}

/// The object has the buffer protocol itself.
struct Itself;

impl Source for Itself {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        Ok(object.to_owned())
    }
}

/// The object is of an array-like class, and its tensor is exported.
pub(super) struct Exported<T>(PhantomData<T>);

impl<T: ExportClass> Source for Exported<T> {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        exporter_of(object, ArrayClass::of::<T>())
    }
}

/// Fills the struct of a request, or raises an exception.
///
/// The struct refers to the shape and the strides of an exporter, which does not change them,
/// and has a reference to the exporter. So nothing is left to do when the consumer releases
/// the buffer, but to drop that reference.
///
/// # Safety
///
/// 1. Python calls it, as `bf_getbuffer` of an object.
unsafe extern "C" fn get_buffer<S: Source>(
    object: *mut PyObject,
    buffer: *mut Buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    // SAFETY: by 1 the struct may be written, and is not used by other code during the call.
    let buffer = unsafe { &mut *buffer.cast::<MaybeUninit<Buffer>>() };
    let describe = || buffer_of(S::exporter(object)?, flags);
    match catch_panic(describe).unwrap_or_else(|| Err(convert::panicked())) {
        Ok(described) => {
            buffer.write(described);
            0
        }
        Err(error) => {
            convert::raise(object.py(), error);
            // Python requires that `obj` is NULL after a failed request.
            buffer.write(Buffer::EMPTY);
            -1
        }
    }
}

/// Describes the memory of an exporter, and keeps the reference to it.
fn buffer_of(exporter: Bound<'_, PyAny>, flags: c_int) -> PyResult<Buffer> {
    let described = value(&exporter)?.buffer(flags)?;
    Ok(Buffer { obj: exporter.into_ptr(), ..described })
}

/// Returns the exporter of an object with the buffer protocol.
pub(super) fn value<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Exporter> {
    let missing = |_| PyTypeError::new_err("the object has no tensor");
    Ok(object.cast::<BufferBase>().map_err(missing)?.get().exporter.get())
}
