//! Helpers of the GPU tests: the driver, called as a program without this crate
//! calls it, and the simulator's controls.
//!
//! The tests run on the `libcuda.so.1` that the loader finds. `cargo xtask test`
//! makes it find the simulator; without that, it is the driver of the machine.
//! Where there is none, the tests print that they were skipped, and fail if
//! `DLPACK_REQUIRE` contains `cuda`.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]
#![expect(clippy::missing_panics_doc, reason = "tests panic where something is wrong")]

pub mod driver;
pub mod gate;
pub mod hidden;
pub mod hip;
pub mod kernels;
pub mod session;
pub mod simulator;
