//! Imports: a foreign tensor is read once, validated once, and then accessed in one of
//! three ways.
//!
//! [`ImportedTensor`] is the handle. It has its own copy of the metadata. Other owners may write
//! the elements at any time, so by default they are read by value ([`Elements`]). Slices
//! are for memory that no one else writes ([`Frozen`]) or that no one else accesses
//! ([`Exclusive`]).

mod block;
#[cfg(feature = "pyo3")]
mod cast;
mod copied;
mod dims;
mod element_iter;
mod elements;
mod elements_copied;
mod elements_mut;
mod elements_part;
mod from_dims;
mod from_tensor;
mod import_error;
mod import_trait;
mod imported;
mod imported_memory;
mod imported_slice;
mod imported_storage;
mod managed;
mod node;
mod overlaps;
mod owned_slice;
mod policy;
mod raw;
mod raw_bits;
mod rows;
mod shape;
mod slices;
mod sub_view;
mod typed;
mod validate;

#[cfg(feature = "pyo3")]
pub(crate) use cast::{CastError, is_allowed};
pub use elements::Elements;
pub use elements_mut::ElementsMut;
pub use elements_part::{ElementsPart, ElementsPartMut};
pub use from_dims::FromDims;
pub use from_tensor::{FromElements, ImportStorage};
#[cfg(feature = "pyo3")]
pub(crate) use import_error::{Advised, Fix, is_of_numpy, is_of_torch};
pub use import_error::{ImportError, MetadataField, Mismatch, MismatchKind};
pub use import_trait::{Copies, DLPackImport};
pub use imported::ImportedTensor;
pub use imported_slice::ImportedSlice;
pub use imported_storage::{AnyElement, ImportedElement, ImportedStorage};
pub use owned_slice::OwnedSlice;
pub use policy::ImportPolicy;
pub use raw_bits::RawBits;
pub use slices::{Exclusive, Frozen};

pub(crate) use copied::ElementCopy;
pub(crate) use from_dims::number;
pub(crate) use from_tensor::{elements_are, on_host};
#[cfg(feature = "pyo3")]
pub(crate) use raw::Unmanaged;
pub(crate) use raw::read_array;
#[cfg(feature = "ndarray")]
pub(crate) use typed::Typed;
