//! Imports the tensors of Python objects.

pub(in crate::python) mod advice;
pub(in crate::python) mod allocate;
pub(in crate::python) mod call_dlpack;
pub(in crate::python) mod device_tensor;
pub(in crate::python) mod from_dlpack;
pub(in crate::python) mod import_object;
pub(in crate::python) mod import_options;
pub(in crate::python) mod missing_values;
pub(in crate::python) mod not_exported;
pub(in crate::python) mod object_kind;
pub(in crate::python) mod retry;
pub(in crate::python) mod sequences;
pub(in crate::python) mod with_tensor;
