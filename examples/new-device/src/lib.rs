//! A new accelerator, and how its tensors are exported. The README is the guide.
//!
//! - `runtime/` is what a vendor has before it hears of DLPack: devices, memory
//!   that the host cannot touch, streams that work on their own, events.
//! - `backend.rs` and `tensor.rs` are all that it takes to export.
//! - `memory.rs` adds allocation for others, and copies to the host.
//! - `consumer.rs` is another library on the same device.

pub mod backend;
pub mod consumer;
mod kernels;
pub mod memory;
pub mod runtime;
pub mod tensor;

pub use backend::Npu;
pub use tensor::Tensor;
