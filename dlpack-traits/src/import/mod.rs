//! Taking tensors: what comes through a C pointer is read once, checked once,
//! and then accessed in one of three states.
//!
//! [`Imported`] is the handle. Its metadata are this crate's own copy. Its
//! elements may be written by others at any time, so that they are read one by
//! one ([`Elements`]); slices are for memory that nobody else writes
//! ([`Frozen`]) or that nobody else has ([`Exclusive`]).

mod checked;
mod codes;
mod construct;
mod elements;
mod foreign;
mod import_error;
mod own;
mod policy;
mod raw;
mod slices;
mod tensor;
mod typed;

pub use codes::Codes;
pub use construct::DLPackImport;
pub use elements::{Elements, Readable};
pub use foreign::{AnyElement, Foreign, ForeignElement};
pub use import_error::ImportError;
pub use policy::ImportPolicy;
pub use slices::{Exclusive, Frozen};
pub use tensor::Imported;

#[cfg(feature = "ndarray")]
pub(crate) use typed::Typed;
