//! Imports: a foreign tensor is read once, validated once, and then accessed in one of
//! three ways.
//!
//! [`ImportedTensor`] is the handle. It has its own copy of the metadata. Other owners may write
//! the elements at any time, so by default they are read by value ([`Elements`]). Slices
//! are for memory that no one else writes ([`Frozen`]) or that no one else accesses
//! ([`Exclusive`]).

mod cast;
mod copied;
mod elements;
mod import_error;
mod import_trait;
mod imported;
mod imported_memory;
mod imported_slice;
mod imported_storage;
mod managed;
mod owned_slice;
mod reader;
mod shape;
mod slices;
mod sub_view;
mod two_tensors_overlap;

pub use cast::{As, Conversion, ElementsAs, Lossless, Lossy, Number};
#[cfg(feature = "pyo3")]
pub(crate) use cast::{CastError, Kind, best_of, is_allowed, is_beyond, is_widened, kind_of};
#[cfg(feature = "pyo3")]
pub use elements::{Arguments, ElementFn};
pub use elements::{Elements, ElementsMut, ElementsPart, ElementsPartMut, RawBits, Zip};
#[cfg(feature = "pyo3")]
pub(crate) use import_error::{Advised, Fix, is_of_numpy, is_of_torch};
pub use import_error::{ImportError, MetadataField, Mismatch, MismatchKind};
pub use import_trait::{Copies, DLPackImport};
pub use import_trait::{FromElements, ImportStorage};
pub use imported::ImportedTensor;
pub use imported_slice::ImportedSlice;
pub use imported_storage::{AnyElement, ImportedElement, ImportedStorage};
pub use owned_slice::OwnedSlice;
pub use reader::ImportPolicy;
pub use shape::FromDims;
pub use slices::{Exclusive, Frozen};

pub(crate) use copied::ElementCopy;
#[cfg(feature = "pyo3")]
pub(crate) use elements::Map;
#[cfg(any(feature = "ndarray_0_16", feature = "ndarray_0_17"))]
pub(crate) use elements::Typed;
pub(crate) use import_trait::{elements_are, on_host};
#[cfg(feature = "pyo3")]
pub(crate) use imported_storage::{AreStored, IsStored};
#[cfg(feature = "pyo3")]
pub(crate) use reader::Unmanaged;
pub(crate) use reader::read_array;
pub(crate) use shape::number;
