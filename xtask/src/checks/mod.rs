//! The checks: tests, lints, sanitizers, packages.

pub(crate) mod devices;
pub(crate) mod free_threaded;
pub(crate) mod gpu;
pub(crate) mod miri;
pub(crate) mod publish;
pub(crate) mod python;
pub(crate) mod rust;
pub(crate) mod sanitizers;
pub(crate) mod wasm;
pub(crate) mod wheels;
