//! A new accelerator, and the export of its tensors. The README is the guide.
//!
//! - `runtime/` is the vendor's runtime without DLPack: devices, memory that the host
//!   cannot access, asynchronous streams, events.
//! - `backend.rs` and `tensor.rs` are sufficient for exports. The optional functions in
//!   `backend.rs` add allocation for other libraries, and copies to the host.
//! - `consumer.rs` is another library on the same device.

pub mod backend;
pub mod consumer;
mod kernels;
pub mod runtime;
pub mod tensor;

pub use backend::Npu;
pub use tensor::Tensor;
