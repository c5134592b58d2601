//! Storages of other crates, each behind features of its name, and of its name and version.
//!
//! What is here is safe code: a crate whose memory needs a promise keeps that
//! promise where its value is made (`memmap2::Mmap::map` is `unsafe`).

#[cfg(any(feature = "ndarray_0_16", feature = "ndarray_0_17"))]
mod ndarray;

#[cfg(feature = "bytes")]
use crate::storage::SharedOwner;
#[cfg(any(feature = "bytes", feature = "memmap2_0_9"))]
use crate::storage::{DataMut, DataRef, Storage};

/// Bytes with several owners, as network and storage libraries hand them out: lent for reading, shared
/// by a count.
#[cfg(feature = "bytes")]
impl Storage for bytes::Bytes {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }
}

/// A mapped file, for reading. In an `Arc` it can be shared.
///
/// The caller of `map` promises to `memmap2` that no process changes the file while it is mapped.
#[cfg(feature = "memmap2_0_9")]
impl Storage for memmap2::Mmap {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice(self)
    }
}

/// Memory with one owner, who can lend it for writing.
#[cfg(any(feature = "bytes", feature = "memmap2_0_9"))]
macro_rules! writable {
    ($($(#[$meta:meta])* $memory:ty;)+) => {$(
        $(#[$meta])*
        impl Storage for $memory {
            #[inline]
            fn data(&self) -> DataRef<'_> {
                DataRef::from_slice(self)
            }

            #[inline]
            fn data_mut(&mut self) -> DataMut<'_> {
                DataMut::from_mut_slice(self)
            }
        }
    )+};
}

#[cfg(any(feature = "bytes", feature = "memmap2_0_9"))]
writable! {
    /// Bytes with one owner, who can lend them for writing.
    #[cfg(feature = "bytes")]
    bytes::BytesMut;
    /// A mapped file that a consumer may write, or a copy of it, as it was mapped.
    #[cfg(feature = "memmap2_0_9")]
    memmap2::MmapMut;
}
