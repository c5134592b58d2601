//! Helpers of the Vulkan tests: a program that uses Vulkan by itself, and a
//! device whose one queue appears as two.
//!
//! They run on the first driver that Vulkan's loader finds. Where it finds none,
//! each prints that it was skipped, and fails if `DLPACK_REQUIRE` contains `vulkan`.
//! Mesa's lavapipe is such a driver, on the processor.

#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]
#![expect(clippy::missing_panics_doc, reason = "tests panic where something is wrong")]

pub mod program;
pub mod split;
pub mod watched;
pub mod webgpu;
