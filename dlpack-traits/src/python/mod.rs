//! Exports `#[pyclass]` structs as tensors, and imports the tensors of Python objects
//! (feature `pyo3`).
//!
//! [`add_class`] registers a `#[pyclass]` and gives it `__dlpack__` and
//! `__dlpack_device__`, as the Python array API standard (2025.12) defines them. Its
//! objects can then be passed to `numpy.from_dlpack`, `torch.from_dlpack`,
//! `jax.dlpack.from_dlpack`, `tvm_ffi.from_dlpack` and other DLPack consumers:
//!
//! ```ignore,no_run,standalone_crate
//! use std::sync::Arc;
//! use dlpack_traits::DLPackExport;
//! use pyo3::prelude::*;
//!
//! #[pyclass(frozen)]
//! #[derive(DLPackExport)]
//! struct Image { data: Arc<[u8]>, shape: [usize; 3] }
//!
//! #[pymodule]
//! fn camera(m: &Bound<'_, PyModule>) -> PyResult<()> {
//!     dlpack_traits::python::add_class::<Image>(m)
//! }
//! ```
//!
//! # Importing tensors
//!
//! [`from_dlpack`] imports the tensor of any Python object that exports one. It returns
//! an [`ImportedTensor`](crate::ImportedTensor) and needs no `unsafe`. A class that implements
//! [`DLPackImport`](crate::DLPackImport), derived or written by hand, gets a class method
//! `from_dlpack`:
//!
//! ```ignore,no_run,standalone_crate
//! use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, python};
//! use pyo3::prelude::*;
//!
//! #[pyclass(frozen)]
//! #[derive(DLPackExport, DLPackImport)]
//! struct Grid { data: ImportedStorage<f32>, shape: [usize; 2] }
//!
//! #[pymethods]
//! impl Grid {
//!     fn sum(&self) -> PyResult<f32> {
//!         Ok(self.data.elements()?.iter().sum())
//!     }
//! }
//!
//! #[pymodule]
//! fn grids(m: &Bound<'_, PyModule>) -> PyResult<()> {
//!     python::class::<Grid>().importable().add(m) // Grid.from_dlpack(array)
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | declare an array argument of a function | [`PyTensor`], [`PyTensorMut`]; [`PyTensors`] for a list; [`FromTensor`] for a struct |
//! | return an array of NumPy, or of the library of an argument | [`IntoPython`], [`Numpy`], [`allocate_output`] |
//! | own the tensor of an object | [`from_dlpack`]; [`from_dlpack_with`] to request a device, a copy or a stream |
//! | read it during a call, on the current stream of its library | [`with_tensor`] |
//! | read it during a call without taking ownership, while no code changes the object | `unsafe` [`with_view`] |
//! | let the library of an argument allocate a result | [`allocate`] |
//! | make an object of a given type from a Rust tensor | [`to_object`] |
//!
//! The imports and [`to_object`] use the exchange table of the object's type if it has one that
//! can be read, and the Python protocol otherwise; NumPy's arrays are read by NumPy's C API.
//! [`allocate`] requires a table. A subclass inherits the table of its base. The inherited table
//! does not call a `__dlpack__` that the subclass overrides; a subclass that sets
//! `__dlpack_c_exchange_api__ = None` has no table. If two unrelated classes publish one table, it is
//! used for at most one of them.
//!
//! This crate trusts the producer to follow the standard: its pointers lead to memory of
//! the size that the struct states, and the memory stays valid until the tensor is
//! released. Everything that can be checked is checked.
//!
//! # Lifetime of the memory
//!
//! If the storage can be shared (`Arc<[T]>`, `SharedBuffer<T>`), an export holds another
//! reference to the storage, and releasing it does not need the interpreter. Otherwise
//! (`Vec<T>`) the export holds a reference to the Python object and a borrow of it: until
//! the last export is released, `&mut` methods of the object raise "Already borrowed".
//!
//! # Write access
//!
//! Consumers may write to the tensor of an object whose storage shares write access, such as a
//! [`SharedBuffer`](crate::SharedBuffer), a writable [`ImportedStorage`](crate::ImportedStorage) or a
//! [`DeviceBuffer`](crate::backend::DeviceBuffer). Every other tensor is exported READ_ONLY. A capsule
//! of DLPack before 1.0 has no such flag: a consumer that requests it gets a copy of a READ_ONLY tensor.
//!
//! # The exchange table
//!
//! Each class also publishes the C exchange table of DLPack 1.3
//! ([`exchange`](crate::exchange)). Consumers such as tvm-ffi use it to export and create
//! objects without a call into Python. It rejects the same tensors as `__dlpack__`.
//! Subclasses inherit it, so these consumers do not call a `__dlpack__` that a Python
//! subclass defines.
//!
//! | function | needs |
//! |---|---|
//! | export a managed tensor of an object | nothing |
//! | create an object from a managed tensor | [`importable`](ClassBuilder::importable) |
//! | export a borrowed `DLTensor` | `#[pyclass(frozen)]`, and writable memory or [`read_only_views`](ClassBuilder::read_only_views) |
//! | the allocator, the current work stream | a device of the class's [`backends`](ClassBuilder::backends) |
//!
//! # Python exceptions
//!
//! | exception | when |
//! |---|---|
//! | `BufferError` | an export is not possible as requested: shape, dtype, device, or `copy=False` where a copy is required; an imported tensor is on another device than the one requested, or violates the standard |
//! | `TypeError` | a wrong type or dtype, or an unknown name of a keyword or device |
//! | `ValueError` | an argument has a wrong value: the shape, layout or device of a tensor that a type of yours imports, memory that must not be written, a `stream` on the CPU, a negative version; every other [`Error`](crate::Error) that a function of yours returns by `?`, but for those in other rows |
//! | `IndexError` | Rust code requested an element that the tensor does not have |
//! | `MemoryError` | an allocation failed |
//! | `AttributeError` | `from_dlpack` of an object without `__dlpack__` (a `PyTensor` argument: `TypeError`); the message says what to pass |
//! | any other | another library raised it, and it is passed on unchanged; or NumPy is missing (`ModuleNotFoundError`) |
//! | `RuntimeError` | code of the class panicked, or the object is in use; an [`Error`](crate::Error) that a function of yours returns by `?` says that the runtime of a device failed or that its library is missing |

mod argument;
mod array_like;
mod capsule;
mod class;
mod convert;
mod elementwise;
mod export;
mod import;
mod interpreter;
mod numpy;
mod result;
#[cfg(feature = "stubs")]
mod stubs;
mod table;

pub use crate::exchange::{Importable, NotImportable};
/// The element type of an argument that accepts every dtype: `PyTensor<'_, AnyElement, 2>`. It
/// is the default of [`PyTensor`], [`PyTensorMut`] and [`PyDeviceTensor`].
///
/// ```no_run
/// use dlpack_traits::DataType;
/// use dlpack_traits::python::{AnyElement, PyTensor};
/// use pyo3::prelude::*;
///
/// /// The sum of a matrix of `float32`s or `float64`s.
/// # #[allow(dead_code)]
/// fn sum(x: &PyTensor<'_, AnyElement, 2>) -> PyResult<f64> {
///     Ok(match x.dtype() {
///         DataType::F32 => x.elements::<f32>()?.iter().map(f64::from).sum(),
///         _ => x.elements::<f64>()?.iter().sum(),
///     })
/// }
/// ```
#[doc(inline)]
pub use crate::import::AnyElement;
pub use crate::import::{Arguments, As, ElementFn, Lossy};
pub use argument::{
    ANY_RANK, AtMost, Convert, Convertible, Exact, FromTensor, PyDeviceTensor, PyRecords, PyTensor,
    PyTensorMut, PyTensors,
};
#[doc(inline)]
pub use argument::{all_typed, dispatch};
pub use class::{ClassBuilder, Importing, add_class, class};
pub use elementwise::{Elementwise, Operand, elementwise};
pub use export::export_class::ExportClass;
pub use import::allocate::{Allocated, allocate};
pub use import::from_dlpack::{from_dlpack, from_dlpack_with};
pub use import::import_options::ImportOptions;
pub use import::with_tensor::{BorrowedTensor, CurrentStream, with_tensor, with_view};
pub use result::{IntoPython, LibraryOf, Numpy, PyLike, PyOutput, allocate_output};
pub use table::to_object::to_object;
pub use table::{PyHost, publish};
