//! Tensors with an owner: the allocation, its deleter, and the handle to it.
//!
//! [`Packet`] implements the ownership of an export: the owner is moved to its final place
//! first, lends its memory there, and is not accessed again until the deleter drops it. For
//! the proof see `docs/SAFETY.md`.

mod abi;
mod block;
mod deleter;
mod head;
mod legacy;
mod outgoing;
mod owners;
mod packet;
mod place;
mod release;
mod tensor;

pub use abi::Abi;
pub use tensor::ManagedTensor;

pub(crate) use block::Holder;
pub(crate) use outgoing::Outgoing;
pub(crate) use packet::{DescribeIn, Lend, Packet};
pub(crate) use release::{Guard, Guarded, Release};
