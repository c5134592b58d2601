//! Storages of other crates, each behind a feature of its name.
//!
//! What is here is safe code: a crate whose memory needs a promise keeps that
//! promise where its value is made (`memmap2::Mmap::map` is `unsafe`).

#[cfg(feature = "bytes")]
mod bytes;
#[cfg(feature = "memmap2")]
mod memmap2;
#[cfg(feature = "ndarray")]
mod ndarray;
