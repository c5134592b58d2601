//! Mapped files.
//!
//! The caller of `map` promises to `memmap2` that no process changes the file while it is
//! mapped.

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
