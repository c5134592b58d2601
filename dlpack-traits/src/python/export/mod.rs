//! Exports objects of Python classes: the methods `__dlpack__` and `__dlpack_device__`.

#[cfg(feature = "pyo3")]
pub(in crate::python) mod arguments;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod class_methods;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod common_calls;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod dlpack_methods;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod dyn_export;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod erased_ref;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod export_class;
pub(in crate::python) mod export_plan;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod method_def;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod offer;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod py_owner;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod request;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod to_capsule;
