//! Tensors with an owner: the allocation, its deleter, and the handle to it.
//!
//! [`Packet`] implements the ownership of an export: the owner is moved to its final place
//! first, lends its memory there, and is not accessed again until the deleter drops it. For
//! the proof see `docs/soundness.md`.

mod abi;
mod call_deleter;
mod deleter;
mod head;
mod legacy;
mod packet;
mod tensor;

pub use abi::Abi;
pub use call_deleter::Release;
pub use tensor::ManagedTensor;

pub(crate) use abi::ManagedStruct;
pub(crate) use call_deleter::{Guard, GuardedRelease};
pub(crate) use head::WithHead;
pub(crate) use packet::{DescribeIn, Lend, Packet};
pub(crate) use tensor::RawManaged;
