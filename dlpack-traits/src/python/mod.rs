//! Python classes that produce tensors, and tensors of Python objects (feature `pyo3`).
//!
//! [`add_class`] registers a `#[pyclass]` and gives it `__dlpack__` and
//! `__dlpack_device__`, as the Python array API standard (2025.12) defines
//! them. From then on `numpy.from_dlpack`, `torch.from_dlpack`,
//! `jax.dlpack.from_dlpack`, `tvm_ffi.from_dlpack` and their kin accept its
//! objects:
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
//! # Taking tensors
//!
//! [`from_dlpack`] takes the tensor of any Python object that exports one, as an
//! [`Imported`](crate::Imported), and needs no `unsafe`. A class that implements
//! [`DLPackImport`](crate::DLPackImport), by the derive or by hand, gets a class method
//! `from_dlpack`:
//!
//! ```ignore,no_run,standalone_crate
//! use dlpack_traits::{DLPackExport, DLPackImport, Foreign, python};
//! use pyo3::prelude::*;
//!
//! #[pyclass(frozen)]
//! #[derive(DLPackExport, DLPackImport)]
//! struct Grid { data: Foreign<f32>, shape: [usize; 2] }
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
//! | own the tensor of an object | [`from_dlpack`]; [`from_dlpack_with`] to ask for a device, a copy, a stream |
//! | read it for the time of a call, on the stream of its library | [`borrow`] |
//! | the same without an allocation, while nothing changes the object | `unsafe` [`borrow_view`] |
//! | have a result allocated by the library of an argument | [`allocate`], [`allocate_like`] |
//! | make an object of a given type from a Rust tensor | [`to`] |
//!
//! All of them use the exchange table of the object's type, where it has one that
//! can be read, and the Python protocol otherwise. A subclass has the table of its
//! base, which does not know of a `__dlpack__` that the subclass overrides; with
//! `__dlpack_c_exchange_api__ = None` it has none. A table that two unrelated classes have
//! is used for the class that it was found on first, or for neither.
//!
//! Who makes the tensor is trusted to have made it as the standard says: with pointers
//! that lead to memory of the size that the struct states, for as long as it is not
//! released. Everything that can be checked is.
//!
//! # What keeps the memory alive
//!
//! Where the storage can be shared (`Arc<[T]>`, `SharedBuffer<T>`), an export
//! holds one more owner of it and needs no interpreter to be released.
//! Otherwise (`Vec<T>`) it holds the Python object, borrowed: until the last
//! export is released, `&mut` methods of the object raise "Already borrowed".
//!
//! # Who may write
//!
//! Consumers of an object over a [`SharedBuffer`](crate::SharedBuffer) may
//! write. Everything else is exported READ_ONLY, and as the legacy capsule
//! cannot say so, a consumer that asks for one gets a copy.
//!
//! # The exchange table
//!
//! Each class also has the C exchange table of DLPack 1.3 ([`exchange`](crate::exchange)),
//! by which consumers such as tvm-ffi take and make its objects without a call into
//! Python. It refuses what `__dlpack__` refuses. Subclasses inherit it, so a
//! `__dlpack__` that a Python subclass defines is not called by such consumers.
//!
//! | function | needs |
//! |---|---|
//! | a managed tensor of an object | nothing |
//! | an object of a managed tensor | [`importable`](ClassBuilder::importable) |
//! | a borrowed `DLTensor` | `#[pyclass(frozen)]`, and memory that may be written or [`read_only_views`](ClassBuilder::read_only_views) |
//! | the allocator, the current work stream | a device of the class's [`backends`](ClassBuilder::backends) |
//!
//! # Errors that Python sees
//!
//! | exception | when |
//! |---|---|
//! | `BufferError` | the tensor cannot be exported as asked: shape, dtype, device, or `copy=False` where only a copy would do |
//! | `TypeError` | an argument of the wrong type, or an unknown one |
//! | `ValueError` | an argument with a wrong value: a `stream` on the CPU, a negative version |
//! | `IndexError` | Rust code asked for an element that the tensor does not have |
//! | `MemoryError` | no memory for the export |
//! | `AttributeError` | what was to be imported has no `__dlpack__`; says what to pass |
//! | any other | raised by the producer of what was to be imported; it arrives as it was |
//! | `RuntimeError` | code of the class panicked, or the object is in use |

#[cfg(feature = "pyo3")]
mod allocate;
#[cfg(feature = "pyo3")]
mod borrow;
#[cfg(feature = "pyo3")]
mod builder;
#[cfg(feature = "pyo3")]
mod capsule;
#[cfg(feature = "pyo3")]
mod class;
#[cfg(feature = "pyo3")]
mod class_method;
#[cfg(feature = "pyo3")]
mod convert;
#[cfg(feature = "pyo3")]
mod detached;
#[cfg(feature = "pyo3")]
mod ending;
#[cfg(feature = "pyo3")]
mod export;
#[cfg(feature = "pyo3")]
mod from_dlpack;
#[cfg(feature = "pyo3")]
mod guard;
#[cfg(feature = "pyo3")]
mod host;
#[cfg(feature = "pyo3")]
mod in_flight;
#[cfg(feature = "pyo3")]
mod known;
mod ladder;
#[cfg(feature = "pyo3")]
mod lookup;
#[cfg(feature = "pyo3")]
mod method;
#[cfg(feature = "pyo3")]
mod methods;
#[cfg(feature = "pyo3")]
mod no_tensor;
#[cfg(feature = "pyo3")]
mod object;
#[cfg(feature = "pyo3")]
mod offer;
#[cfg(feature = "pyo3")]
mod owner;
mod peer;
#[cfg(feature = "pyo3")]
mod produce;
mod protocol;
#[cfg(feature = "pyo3")]
mod publish;
mod relay;
mod remembered;
#[cfg(feature = "pyo3")]
mod slots;
#[cfg(feature = "pyo3")]
mod symbols;
#[cfg(feature = "pyo3")]
mod table_owner;
#[cfg(feature = "pyo3")]
mod take;
#[cfg(feature = "pyo3")]
mod to_object;
#[cfg(feature = "pyo3")]
mod value;

#[cfg(feature = "pyo3")]
pub use crate::exchange::{Importable, NotImportable};
#[cfg(feature = "pyo3")]
pub use allocate::{Allocated, allocate, allocate_like};
#[cfg(feature = "pyo3")]
pub use borrow::{Borrowed, WorkStream, borrow, borrow_view};
#[cfg(feature = "pyo3")]
pub use builder::{ClassBuilder, Importing, class};
#[cfg(feature = "pyo3")]
pub use class::{ExportClass, add_class, install};
#[cfg(feature = "pyo3")]
pub use from_dlpack::{ImportOptions, from_dlpack, from_dlpack_with};
#[cfg(feature = "pyo3")]
pub use host::PyHost;
#[cfg(feature = "pyo3")]
pub use publish::publish;
#[cfg(feature = "pyo3")]
pub use to_object::to;
