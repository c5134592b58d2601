//! A simulator of the CUDA driver and of the HIP runtime, **for tests only**.
//!
//! It is one shared library that can be loaded as `libcuda.so.1` and as
//! `libamdhip64.so`. No GPU is involved, and what passes here was not tested on
//! one. It is stricter than a driver where a mistake would go unnoticed there:
//!
//! - Streams are threads, so work that nobody ordered really runs at another time.
//! - Device memory is mapped twice: the host sees pages that it may not touch, and
//!   a program that follows a device pointer dies of it.
//! - Addresses and handles are never used again, so a use after a free is an error.
//! - Fresh memory is not zero.
//! - Every call can be made to fail (`sim_fail`), and everything is counted
//!   (`sim_counts`).
//!
//! ```text
//! cuda/  hip/     the C functions: names, arguments, which device is current
//! ops/            what they do, once for both
//! state           everything that exists, behind one lock
//! stream work     a stream and its thread; what a stream does
//! capture         stream capture: what is recorded, and what is refused meanwhile
//! memory pages    allocations; memory that the host may not touch
//! fence           something that will have happened
//! boundary fault  what every C function has in common; failing on request
//! control         the `sim_*` functions
//! ```

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "a library for machines that have std")]

mod boundary;
mod capture;
mod control;
mod cuda;
mod fault;
mod fence;
mod hip;

mod kernel;
mod memory;
mod ops;
mod pages;
mod state;
mod status;
mod stream;
mod work;
