//! Mapped files.
//!
//! That nobody else changes a file while it is mapped is promised to `memmap2`,
//! by whoever calls `map`.

use memmap2::{Mmap, MmapMut};

use crate::storage::{DataMut, DataRef, Storage};

/// A mapped file, for reading. In an `Arc` it can be shared.
impl Storage for Mmap {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }
}

/// A mapped file that a consumer may write, or a copy of it, as it was mapped.
impl Storage for MmapMut {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline]
    fn data_mut(&mut self) -> DataMut<'_> {
        DataMut::from_mut_slice(self)
    }
}
