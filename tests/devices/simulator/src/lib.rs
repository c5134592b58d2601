//! A simulator of the CUDA driver and of the HIP runtime, **for tests only**.
//!
//! It is one shared library that can be loaded as `libcuda.so.1` and as
//! `libamdhip64.so`. It uses no GPU, and a test that passes here was not run on
//! one. It is stricter than a driver where a driver would not report a mistake:
//!
//! - Streams are threads, so unordered work really runs at another time.
//! - Device memory is mapped twice: the host's mapping is inaccessible, and a
//!   program that dereferences a device pointer crashes.
//! - Addresses and handles are never reused, so a use after a free is an error.
//! - Fresh memory is not zero.
//! - Every call can be made to fail (`sim_fail`), and every object is counted
//!   (`sim_counts`).
//!
//! ```text
//! cuda/  hip/     the C functions: names, arguments, current device
//! ops/            their behaviour, shared by both interfaces
//! state           all objects, behind one lock
//! stream work     a stream and its thread; the work of a stream
//! capture         stream capture: recorded work, and rejected calls
//! memory pages    allocations; memory that the host cannot access
//! fence           an event in the future
//! boundary fault  helpers of every C function; failing on request
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
