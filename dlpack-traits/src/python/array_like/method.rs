//! Methods of array-like classes, their installation, and the functions of a class that they call.

use alloc::string::String;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::ops::Deref;

use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, intern};

use crate::device::Device;
use crate::element::RecordType;
use crate::error::Error;
use crate::export::{DLPackExport, export_owned};
use crate::managed::ManagedTensor;
use crate::python::array_like::exporter::outer;
use crate::python::convert::exchange_error;
use crate::python::export::export_class::{ClassVTable, ExportClass, PyOwner};
use crate::python::export::method_def::{Arguments, Definition, ObjectMethod, add_to_class};
use crate::python::interpreter::detached_if;
use crate::stream_arg::StreamArg;
use crate::view::TensorView;

/// The object of a call from Python.
pub(super) type Object<'a> = Borrowed<'a, 'static, PyAny>;

/// What a method returns to Python.
pub(super) type Returned = PyResult<Bound<'static, PyAny>>;

/// A method of each array-like class.
pub(super) trait Method {
    const NAME: &'static CStr;

    /// The signature and the documentation.
    const DOC: &'static CStr;

    fn call(object: Object<'_>, arguments: Arguments<'_>, class: &'static ClassVTable) -> Returned;
}

/// A method of one class.
struct OfClass<T, M>(PhantomData<(T, M)>);

impl<T: ExportClass, M: Method> ObjectMethod for OfClass<T, M> {
    const NAME: &'static CStr = M::NAME;
    const DOC: &'static CStr = M::DOC;

    fn call(
        object: Borrowed<'_, 'static, PyAny>,
        arguments: Arguments<'_>,
    ) -> PyResult<Bound<'static, PyAny>> {
        M::call(object, arguments, ClassVTable::of::<T>())
    }
}

/// Returns the definition of a method of a class.
pub(super) fn method<T: ExportClass, M: Method>() -> Definition {
    Definition::of::<OfClass<T, M>>()
}

/// Adds the methods that the class does not define yet.
pub(super) fn add_missing(class: &Bound<'_, PyType>, methods: &[Definition]) -> PyResult<()> {
    for method in methods {
        if !defines(class, method.name())? {
            method.add_to(class)?;
        }
    }
    Ok(())
}

/// Adds a method as a property, if the class does not define it yet.
pub(super) fn add_missing_property(class: &Bound<'_, PyType>, method: Definition) -> PyResult<()> {
    let py = class.py();
    if defines(class, method.name())? {
        return Ok(());
    }
    add_missing(class, &[method])?;
    let getter = class.getattr(method.name())?;
    let property = py.import("builtins")?.getattr("property")?.call1((getter,))?;
    add_to_class(class, method.name(), property)
}

/// Whether a class itself defines an attribute, whatever its bases define: theirs are for
/// their own tensor.
pub(super) fn defines(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    class.getattr(intern!(class.py(), "__dict__"))?.contains(name)
}

/// Exports the tensor of an object, as `__dlpack__` does, to a consumer on the host.
pub(super) fn export(
    object: Borrowed<'_, 'static, PyAny>,
    class: &'static ClassVTable,
) -> PyResult<ManagedTensor> {
    let py = object.py();
    let object = (class.borrow)(object)?;
    let (value, consumer) = (object.value(), StreamArg::unspecified());
    // Only pinned memory has pending work.
    let waits = value.device().map_err(exchange_error)? != Device::CPU;
    let tensor = match detached_if(py, waits, || value.share(consumer)) {
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
    class: &'static ClassVTable,
    read: impl FnOnce(Described<'_>) -> PyResult<R>,
) -> PyResult<R> {
    let object = (class.borrow)(object)?;
    let view = object.value().tensor().map_err(exchange_error)?;
    let record = object.value().record_type();
    let record = record.filter(|of| of.is_of(view.dtype(), view.shape(), view.strides()));
    read(Described { view, record })
}

/// The name of the class of an object.
pub(super) fn class_name(object: Borrowed<'_, '_, PyAny>) -> PyResult<String> {
    Ok(object.get_type().name()?.to_string_lossy().into_owned())
}
