//! Reference-counted bytes, as network and storage libraries hand them out.

use bytes::{Bytes, BytesMut};

use crate::storage::{DataMut, DataRef, SharedOwner, Storage};

/// Bytes with several owners: lent for reading, shared by a count.
impl Storage for Bytes {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }
}

/// Bytes with one owner, who can lend them for writing.
impl Storage for BytesMut {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline]
    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self)
    }
}
