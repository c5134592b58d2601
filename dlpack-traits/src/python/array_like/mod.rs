//! Attributes by which Python code uses an object as an array: `__array__`, the buffer
//! protocol, `shape` and others ([`install`]).
//!
//! The memory is exported as by `__dlpack__`: with the same owner, and the same borrow of an
//! object whose storage has a single owner. A method is one C function for each class, which
//! calls code that is compiled once.

mod array;
mod array_methods;
mod attributes;
mod buffer_protocol;
mod buffer_slots;
mod exporter;
mod method;
mod reduce;

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::python::export::export_class::ExportClass;
use crate::python::export::method_def::Definition;
use buffer_protocol::functions_of;
use method::{add_missing, add_missing_property, defines, method};

/// Adds `__array__` to a class that does not define it.
pub(in crate::python) fn install_array<T: ExportClass>(class: &Bound<'_, PyType>) -> PyResult<()> {
    add_missing(class, &[method::<T, array::Array>()])
}

/// Adds the attributes to a class, except those that it defines itself. With the buffer protocol,
/// it has `__array_interface__` too, whose memory is an object with the protocol.
pub(in crate::python) fn install<T: ExportClass>(
    class: &Bound<'_, PyType>,
    buffer_protocol: bool,
) -> PyResult<()> {
    let methods = [
        method::<T, attributes::Len>(),
        method::<T, attributes::Repr>(),
        method::<T, attributes::SizeOf>(),
        Definition::of::<array_methods::Format>(),
    ];
    let properties = [
        method::<T, attributes::Shape>(),
        method::<T, attributes::DType>(),
        method::<T, attributes::NDim>(),
        method::<T, attributes::Device>(),
        method::<T, attributes::Size>(),
        method::<T, attributes::NBytes>(),
    ];
    add_missing(class, &methods)?;
    properties.into_iter().try_for_each(|property| add_missing_property(class, property))?;
    array_methods::install(class)?;
    if !buffer_protocol {
        return add_missing(class, &[Definition::of::<array_methods::Bytes>()]);
    }
    add_missing_property(class, method::<T, attributes::ArrayInterface>())?;
    buffer_slots::install(class, functions_of::<T>())
}

/// Adds the methods by which `pickle` and `copy` take an object, unless the class defines how
/// it is pickled. The class has a class method `from_dlpack`.
pub(in crate::python) fn install_reduce<T: ExportClass>(class: &Bound<'_, PyType>) -> PyResult<()> {
    if defines(class, "__reduce__")? {
        return Ok(());
    }
    let from_strided = Definition::of::<reduce::FromStrided>();
    add_missing(class, &[method::<T, reduce::ReduceEx>(), from_strided])
}
