//! Memory of the general tensor: written by all, by nobody, or somebody else's.

use std::sync::Arc;

use dlpack_traits::{DataRef, Error, Foreign, SharedBuffer, SharedOwner, Storage, StreamArg};

/// Bytes with several owners.
#[derive(Clone)]
pub(crate) enum Bytes {
    /// Every owner may write. Aligned to 64 bytes.
    Shared(SharedBuffer<u8>),
    /// Nobody writes.
    Frozen(Arc<[u8]>),
    /// Another library's, with elements of any type.
    Imported(Foreign),
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

    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::Shared(_) => false,
            Self::Frozen(_) => true,
            Self::Imported(foreign) => foreign.tensor().is_read_only(),
        }
    }

    /// One byte of memory of our own.
    pub(crate) fn load(&self, index: usize) -> u8 {
        match self {
            Self::Shared(bytes) => bytes.load(index),
            Self::Frozen(bytes) => bytes[index],
            Self::Imported(_) => unreachable!("imported elements are read by their type"),
        }
    }

    fn storage(&self) -> &dyn Storage {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Frozen(bytes) => bytes,
            Self::Imported(foreign) => foreign,
        }
    }
}

impl Storage for Bytes {
    fn data(&self) -> DataRef<'_> {
        self.storage().data()
    }

    fn hand_off(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.storage().hand_off(consumer)
    }

    fn share(&self) -> Option<SharedOwner> {
        self.storage().share()
    }
}
