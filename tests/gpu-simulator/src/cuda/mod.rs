//! The CUDA driver API, as its header has it. Handles, device pointers and
//! sizes are all numbers of the size of a pointer, and are written `usize`.

mod capture;
mod context;
mod copy;
mod device;
mod event;
mod memory;
mod module;
mod stream;
