//! Tensors with an owner: one allocation, its deleter, and the handle to it.
//!
//! [`Packet`] is the whole of the ownership story: the owner is moved to its
//! final place first, lends its memory there, and is not named again until the
//! deleter drops it. `docs/SAFETY.md` has the argument.

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
