//! The buffer protocol of array-like classes: [`functions_of`].
//!
//! An object may change its memory while a consumer uses a buffer. Therefore each request of a
//! buffer exports the tensor into an object of this module. It owns the tensor, and implements the
//! protocol. The consumer has a reference to it until it releases the buffer.
//! [`buffer_slots`](super::buffer_slots) gives the functions to the class.

use core::ffi::c_int;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::panic::catch_panic;
use crate::python::array_like::buffer_slots::{Buffer, BufferFunctions, install};
use crate::python::array_like::exporter::{Exporter, format_of};
use crate::python::array_like::method::{export, with_tensor};
use crate::python::convert::{self, attached_object};
use crate::python::export::export_class::{ClassVTable, ExportClass};
use crate::python::interpreter::pending_exception::PendingAside;

/// Exports the tensor of an object into a new object with the buffer protocol.
///
/// # Errors
///
/// `BufferError` for memory that is not on the host; `TypeError` for a dtype without a code in
/// the buffer protocol; those of an export.
pub(super) fn exporter_of(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<Bound<'static, PyAny>> {
    // Before the export, which waits for a device.
    let facts = with_tensor(object, class, |view| Ok((view.device(), view.dtype(), view.record)));
    let (device, dtype, record) = facts?;
    format_of(device, dtype, record)?;
    let (py, exporter) = (object.py(), Exporter::new(export(object, class)?, record)?);
    if INSTALLED.get(py).is_none() {
        // Outside of the lock of the cell, because Python code may run meanwhile.
        install(&py.get_type::<Exporter>(), functions::<Itself>())?;
        INSTALLED.get_or_init(py, || ());
    }
    Ok(Bound::new(py, exporter)?.into_any())
}

/// Whether the class of exporters has the buffer protocol.
static INSTALLED: PyOnceLock<()> = PyOnceLock::new();

/// Returns the functions for the objects of an array-like class.
pub(super) const fn functions_of<T: ExportClass>() -> BufferFunctions {
    functions::<Exported<T>>()
}

const fn functions<S: ToExporter>() -> BufferFunctions {
    BufferFunctions { get: get_buffer::<S>, release: release_buffer }
}

/// The way from an object to its exporter.
trait ToExporter {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>>;
}

/// The object has the buffer protocol itself.
struct Itself;

impl ToExporter for Itself {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        Ok(object.to_owned())
    }
}

/// The object is of an array-like class, and its tensor is exported.
struct Exported<T>(PhantomData<T>);

impl<T: ExportClass> ToExporter for Exported<T> {
    fn exporter(object: Borrowed<'_, 'static, PyAny>) -> PyResult<Bound<'static, PyAny>> {
        exporter_of(object, ClassVTable::of::<T>())
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
unsafe extern "C" fn get_buffer<S: ToExporter>(
    object: *mut PyObject,
    buffer: *mut Buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: 1. and 2. By 1 this thread is attached, and the object is alive.
    let object: Borrowed<'_, 'static, PyAny> = unsafe { attached_object(object) };
    // SAFETY: by 1 the struct may be written, and is not used by other code during the call.
    let buffer = unsafe { &mut *buffer.cast::<MaybeUninit<Buffer>>() };
    let describe = || {
        let _pending = PendingAside::new(object.py());
        buffer_of(S::exporter(object)?, flags)
    };
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

/// Python calls it when a consumer releases a buffer of an object. The exporter owns the memory, and
/// Python drops the reference to it afterwards.
extern "C" fn release_buffer(_: *mut PyObject, _: *mut Buffer) {}

/// Describes the memory of an exporter, and keeps the reference to it.
fn buffer_of(exporter: Bound<'_, PyAny>, flags: c_int) -> PyResult<Buffer> {
    let described = value(&exporter)?.buffer(flags)?;
    Ok(Buffer { obj: exporter.into_ptr(), ..described })
}

/// Returns the exporter of an object with the buffer protocol.
pub(super) fn value<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Exporter> {
    let missing = |_| PyTypeError::new_err("the object has no tensor");
    Ok(object.cast::<Exporter>().map_err(missing)?.get())
}
