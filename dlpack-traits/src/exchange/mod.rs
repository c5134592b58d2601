//! The C exchange table of DLPack 1.3: tensors between libraries without a call
//! into Python, and without Python at all.
//!
//! Three of its five functions take a pointer to an object. What such an object
//! is, a [`Host`] says.

mod host;

pub use host::{Fault, Host};
