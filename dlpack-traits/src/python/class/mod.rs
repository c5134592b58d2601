//! Adds Python classes of tensors to modules: their methods, their class method
//! `from_dlpack`, and their exchange table.

pub(in crate::python) mod builder;
pub(in crate::python) mod from_dlpack_method;
