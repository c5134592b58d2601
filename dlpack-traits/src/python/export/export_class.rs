//! The bound on a Python class of tensors: [`ExportClass`].

use pyo3::PyClass;

use crate::export::DLPackExport;
use crate::python::export::class_access::ClassAccess;

/// A Rust type that can be exported as a Python class of tensors: a `#[pyclass]` that
/// implements [`DLPackExport`] and is `Send + Sync`. The bound on `Frozen` holds for every such
/// `#[pyclass]`, so generic code needs only `T: ExportClass`.
///
/// ```
/// # use dlpack_traits::DLPackExport;
/// # use dlpack_traits::python::{self, ExportClass};
/// # use pyo3::prelude::*;
/// # use std::sync::Arc;
/// #[pyclass]
/// #[derive(DLPackExport)]
/// struct Image {
///     data: Arc<[u8]>,
///     shape: [usize; 3],
/// }
///
/// fn add_two<T: ExportClass, U: ExportClass>(m: &Bound<'_, PyModule>) -> PyResult<()> {
///     python::add_class::<T>(m)?;
///     python::add_class::<U>(m)
/// }
/// # let _ = add_two::<Image, Image>;
/// ```
///
/// A class that is not `Sync` is rejected, frozen or not:
///
/// ```compile_fail,E0277
/// # use dlpack_traits::DLPackExport;
/// # use dlpack_traits::python::ExportClass;
/// # use pyo3::prelude::*;
/// # use std::{cell::Cell, sync::Arc};
/// #[pyclass(frozen, unsendable)]
/// #[derive(DLPackExport)]
/// struct Counting {
///     data: Arc<[u8]>,
///     shape: [usize; 3],
///     #[dlpack(skip)]
///     exports: Cell<u32>,
/// }
///
/// const fn is_class<T: ExportClass>() {}
/// const _: () = is_class::<Counting>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a Python class of tensors",
    label = "needs `#[pyclass]` and `#[derive(DLPackExport)]`",
    note = "write what is missing above the struct: `#[pyclass]` if the trait `PyClass` is not implemented, `#[derive(DLPackExport)]` if it is `DLPackExport`"
)]
pub trait ExportClass: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}

// Without `do_not_recommend`, rustc also names the bound that is not satisfied, and the field that is
// not `Sync`.
impl<T> ExportClass for T where T: PyClass<Frozen: ClassAccess<Self>> + DLPackExport + Send + Sync {}
