//! What the functions of both interfaces do. Each takes the device that is
//! current where it matters.

pub(crate) mod capture;
pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod stream;
