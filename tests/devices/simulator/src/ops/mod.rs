//! The behaviour of the functions of both interfaces. Each takes the current device where
//! it matters.

pub(crate) mod capture;
pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod stream;
