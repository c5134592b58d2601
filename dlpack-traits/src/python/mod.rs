//! Python classes that produce tensors (feature `pyo3`).
//!
//! [`add_class`] registers a `#[pyclass]` and gives it `__dlpack__` and
//! `__dlpack_device__`, as the Python array API standard (2025.12) defines
//! them. From then on `numpy.from_dlpack`, `torch.from_dlpack`,
//! `jax.dlpack.from_dlpack`, `tvm_ffi.from_dlpack` and their kin accept its
//! objects:
//!
//! ```ignore
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
//! # Errors that Python sees
//!
//! | exception | when |
//! |---|---|
//! | `BufferError` | the tensor cannot be exported as asked: shape, dtype, device, or `copy=False` where only a copy would do |
//! | `TypeError` | an argument of the wrong type, or an unknown one |
//! | `ValueError` | an argument with a wrong value: a `stream` on the CPU, a negative version |
//! | `MemoryError` | no memory for the export |

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
mod export;
#[cfg(feature = "pyo3")]
mod from_dlpack;
#[cfg(feature = "pyo3")]
mod guard;
#[cfg(feature = "pyo3")]
mod host;
#[cfg(feature = "pyo3")]
mod in_flight;
mod ladder;
#[cfg(feature = "pyo3")]
mod late;
#[cfg(feature = "pyo3")]
mod lookup;
#[cfg(feature = "pyo3")]
mod method;
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
mod take;
#[cfg(feature = "pyo3")]
mod to_object;

#[cfg(feature = "pyo3")]
pub use crate::exchange::{Importable, NotImportable};
#[cfg(feature = "pyo3")]
pub use allocate::{Allocated, allocate, allocate_like};
#[cfg(feature = "pyo3")]
pub use borrow::{Borrowed, WorkStream, borrow};
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
