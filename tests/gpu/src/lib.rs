//! What the GPU tests share: the driver as a program without this crate would
//! call it, and the simulator's controls.
//!
//! The tests run on whatever `libcuda.so.1` the loader finds. `cargo xtask test`
//! lets it find the simulator; without that, it is the driver of the machine.
//! Where it finds none, the tests say that they were skipped, and fail if
//! `DLPACK_REQUIRE` names `cuda`.

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
