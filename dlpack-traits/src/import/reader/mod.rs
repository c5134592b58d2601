//! Reads a C struct: its numbers are copied ([`raw`]) and validated ([`validate`]) into the one
//! allocation of an import ([`node`]).

pub(in crate::import) mod node;
pub(in crate::import) mod raw;
mod validate;

#[cfg(feature = "pyo3")]
pub(crate) use raw::Unmanaged;
pub(crate) use raw::read_array;
