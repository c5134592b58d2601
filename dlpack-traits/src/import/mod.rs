//! Imports: a foreign tensor is read once, validated once, and then accessed in one of
//! three ways.
//!
//! [`Imported`] is the handle. It has its own copy of the metadata. Other owners may write
//! the elements at any time, so by default they are read by value ([`Elements`]). Slices
//! are for memory that no one else writes ([`Frozen`]) or that no one else accesses
//! ([`Exclusive`]).

mod checked;
mod codes;
mod construct;
mod copied;
mod dims;
mod elements;
mod foreign;
mod from_dims;
mod import_error;
mod imported_slice;
mod node;
mod own;
mod own_copy;
mod policy;
mod raw;
mod requirement;
mod slices;
mod storage;
mod tensor;
mod typed;

pub use codes::Codes;
pub use construct::{Copies, DLPackImport};
pub use elements::Elements;
pub use foreign::{AnyElement, Foreign, ForeignElement};
pub use from_dims::FromDims;
pub use import_error::ImportError;
pub use imported_slice::ImportedSlice;
pub use policy::ImportPolicy;
#[cfg(feature = "pyo3")]
pub(crate) use requirement::cast;
pub use requirement::{Number, Requirement, Unmet};
pub use slices::{Exclusive, Frozen};
pub use storage::{FromElements, ImportStorage};
pub use tensor::Imported;

pub(crate) use copied::copy_elements;
pub(crate) use from_dims::number;
pub(crate) use storage::{elements_are, on_host};
#[cfg(feature = "ndarray")]
pub(crate) use typed::Typed;
