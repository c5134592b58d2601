//! The other crates, each used as its own documentation shows.

pub mod dlpack_rs;
pub mod dlpark;
pub mod dlpk;
#[cfg(feature = "pyo3-dlpack")]
pub mod pyo3_dlpack;
#[cfg(feature = "tvm-ffi")]
pub mod tvm_ffi;
