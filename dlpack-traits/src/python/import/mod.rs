//! Imports the tensors of Python objects.

#[cfg(feature = "pyo3")]
pub(in crate::python) mod allocate;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod call_dlpack;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod device_tensor;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod from_dlpack;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod import_options;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod masked;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod missing_protocol;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod missing_values;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod object_kind;
pub(in crate::python) mod retry;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod take_capsule;
#[cfg(feature = "pyo3")]
pub(in crate::python) mod with_tensor;
