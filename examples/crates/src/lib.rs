//! Tensor types of other crates: one file per crate, with a test that compares the addresses
//! in both directions. `docs/types-of-other-crates.md` has a row for each.

#![deny(unsafe_code)]

pub mod arrow;
pub mod burn;
pub mod candle;
pub mod faer;
pub mod frames;
pub mod image;
pub mod las;
pub mod locked;
pub mod nalgebra;
pub mod nifti;
#[cfg(feature = "ort")]
pub mod ort;
pub mod points;
pub mod polars;
pub mod safetensors;
pub mod sprs;
pub mod symphonia;
pub mod tract;
pub mod zarrs;
