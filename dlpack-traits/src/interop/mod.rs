//! Storages of other crates, each behind features of its name, and of its name and version.
//!
//! What is here is safe code: a crate whose memory needs a promise keeps that
//! promise where its value is made (`memmap2::Mmap::map` is `unsafe`).

#[cfg(feature = "bytes")]
mod bytes;
#[cfg(feature = "memmap2_0_9")]
mod memmap2;
#[cfg(any(feature = "ndarray_0_16", feature = "ndarray_0_17"))]
mod ndarray;
