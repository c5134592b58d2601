//! The nightly compiler, and what its sanitizers need.

use crate::checkout::Outcome;
use crate::run::answer_of;

pub(crate) const TOOLCHAIN: &str = "nightly";
/// The one platform on which these steps have been run.
pub(crate) const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// Sanitizers do not see what inline assembly accesses, so shared memory is copied by a loop
/// of Rust instead.
pub(crate) const NO_ASM: &str = "--cfg dlpack_no_asm";

/// Whether the nightly compiler supports sanitizers on this platform.
pub(crate) fn nightly() -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Err(format!("the sanitized tests are for {PLATFORM}"));
    }
    match answer_of("rustup", &["run", TOOLCHAIN, "rustc", "--version"]) {
        Some(_) => Ok(()),
        None => Err("there is no nightly compiler (rustup toolchain install nightly)".to_owned()),
    }
}
