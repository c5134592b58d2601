//! Arrays of the crate `ndarray`, by one feature for each of its major versions.
//!
//! `arrays` is compiled once for each version. The methods are for the newest one, which is the
//! feature `ndarray`; other versions have the same conversions as `TryFrom`.

#![allow(clippy::duplicate_mod, reason = "each instance is for another version")]

#[cfg(feature = "ndarray_0_16")]
#[path = "."]
mod v0_16 {
    use ndarray_0_16 as ndarray;

    mod arrays;
}

#[cfg(feature = "ndarray_0_17")]
#[path = "."]
mod v0_17 {
    use ::ndarray;

    mod arrays;
}

#[cfg(feature = "ndarray")]
mod methods;
