//! Reads a C struct: its numbers ([`raw`]) are copied ([`dims`]) and validated ([`validate`]) into the
//! one allocation of an import ([`node`]).

mod dims;
pub(in crate::import) mod node;
pub(in crate::import) mod raw;
mod validate;

#[cfg(feature = "pyo3")]
pub(crate) use raw::Unmanaged;
pub(crate) use raw::read_array;
