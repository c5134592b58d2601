//! The storage of `Tensor`: bytes that all owners may write, or no one.

use std::sync::Arc;

use dlpack_traits::{Error, SharedBuffer, Storage};

/// Bytes with several owners.
#[derive(Clone, Storage)]
pub(crate) enum Bytes {
    /// Every owner may write. Aligned to 64 bytes.
    Shared(SharedBuffer<u8>),
    /// Read-only.
    Frozen(Arc<[u8]>),
}

impl Bytes {
    pub(crate) fn new(bytes: &[u8], read_only: bool) -> Result<Self, Error> {
        Ok(if read_only {
            Self::Frozen(Arc::from(bytes))
        } else {
            Self::Shared(SharedBuffer::from_slice(bytes)?)
        })
    }

    /// That many zeros, which every owner may write.
    pub(crate) fn zeroed(len: usize) -> Result<Self, Error> {
        SharedBuffer::zeroed(len).map(Self::Shared)
    }

    /// One byte.
    pub(crate) fn load(&self, index: usize) -> u8 {
        match self {
            Self::Shared(bytes) => bytes.load(index),
            Self::Frozen(bytes) => bytes[index],
        }
    }
}
