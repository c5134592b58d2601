//! The functions of a class that its array-like methods call: [`ArrayClass`].

use alloc::string::{String, ToString};
use core::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::exporter::outer;
use crate::device::Device;
use crate::element::RecordType;
use crate::error::Error;
use crate::export::{DLPackExport, export_owned};
use crate::managed::ManagedTensor;
use crate::python::convert::exchange_error;
use crate::python::export::erased_ref::{ClassVTable, PyOwner};
use crate::python::export::export_class::ExportClass;
use crate::python::export::to_capsule::waiting;
use crate::stream_arg::StreamArg;
use crate::view::TensorView;

/// The functions that depend on the class of an object.
pub(super) struct ArrayClass {
    class: &'static ClassVTable,
    /// The class itself, and not a subclass.
    pub(super) class_object: fn(Python<'static>) -> Bound<'static, PyType>,
}

impl ArrayClass {
    pub(super) const fn of<T: ExportClass>() -> &'static Self {
        const { &Self { class: ClassVTable::of::<T>(), class_object: |py| py.get_type::<T>() } }
    }
}

/// Exports the tensor of an object, as `__dlpack__` does, to a consumer on the host.
pub(super) fn export(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ArrayClass,
) -> PyResult<ManagedTensor> {
    let py = object.py();
    let object = (class.class.borrow)(object)?;
    let (value, consumer) = (object.value(), StreamArg::unspecified());
    // Only pinned memory has pending work.
    let waits = value.device().map_err(exchange_error)? != Device::CPU;
    let tensor = match waiting(py, waits, || value.share(consumer)) {
        // The storage cannot be shared, so the Python object becomes the owner.
        Err(Error::NotShareable) => export_owned(PyOwner::new(object), consumer),
        shared => shared,
    };
    tensor.map_err(exchange_error)
}

/// The tensor that an object describes. Without their bytes, records are its elements.
pub(super) struct Described<'a> {
    view: TensorView<'a>,
    pub(super) record: Option<&'static RecordType>,
}

impl<'a> Deref for Described<'a> {
    type Target = TensorView<'a>;

    fn deref(&self) -> &TensorView<'a> {
        &self.view
    }
}

impl Described<'_> {
    /// The shape as of an array of NumPy.
    pub(super) fn outer_shape(&self) -> &[i64] {
        outer(self.view.shape(), self.record)
    }
}

/// Calls a function with the tensor that an object describes, without synchronizing it.
pub(super) fn with_tensor<R>(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ArrayClass,
    read: impl FnOnce(Described<'_>) -> PyResult<R>,
) -> PyResult<R> {
    let object = (class.class.borrow)(object)?;
    let view = object.value().tensor().map_err(exchange_error)?;
    let record = object.value().record_type();
    let record = record.filter(|of| of.is_of(view.dtype(), view.shape(), view.strides()));
    read(Described { view, record })
}

/// The name of the class of an object.
pub(super) fn class_name(object: Borrowed<'_, '_, PyAny>) -> PyResult<String> {
    Ok(object.get_type().name()?.to_string())
}
