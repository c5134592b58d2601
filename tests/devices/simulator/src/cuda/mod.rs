//! The CUDA driver API, as in its header. Handles, device pointers and sizes are all
//! pointer-sized numbers, and are written `usize`.

mod capture;
mod context;
mod copy;
mod device;
mod event;
mod memory;
mod module;
mod stream;
