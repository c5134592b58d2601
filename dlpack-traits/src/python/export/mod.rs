//! Exports objects of Python classes: the methods `__dlpack__` and `__dlpack_device__`.

pub(in crate::python) mod dlpack_methods;
pub(in crate::python) mod export_class;
pub(in crate::python) mod export_plan;
pub(in crate::python) mod method_def;
pub(in crate::python) mod offer;
pub(in crate::python) mod request;
pub(in crate::python) mod to_capsule;
