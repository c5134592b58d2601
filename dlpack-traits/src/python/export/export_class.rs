//! The bound on a Python class of tensors: [`ExportClass`].

use pyo3::PyClass;

use crate::export::DLPackExport;
use crate::python::export::class_access::ClassAccess;

/// A Rust type that can be exported as a Python class of tensors: a `#[pyclass]` that
/// implements [`DLPackExport`] and is `Send + Sync`. The bound on `Frozen` holds for every such
/// `#[pyclass]`, so generic code needs only `T: ExportClass`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a Python class of tensors",
    label = "must be a `#[pyclass]` that derives `DLPackExport` and is `Send + Sync`",
    note = "consumers read the tensor from other threads, and release it on any of them"
)]
pub trait ExportClass: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T> ExportClass for T where T: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}
