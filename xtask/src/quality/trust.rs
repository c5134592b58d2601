//! `cargo xtask trust`: all that takes too long for `cargo xtask test --full`, for a
//! scheduled job. Its results are in `docs/records/long-runs.md`.

use std::process::ExitCode;

use crate::Outcome;
use crate::checkout::Checkout;
use crate::contribute::test;
use crate::quality::{free_threaded, load, sanitize};
use crate::venv::Packages;

/// The duration of the soak in seconds.
const SOAK: u32 = 3_600;

/// Runs all of it; the exit code says whether any failed.
pub(crate) fn trust(checkout: Checkout) -> Outcome<ExitCode> {
    let modules = &load::PYTHON[1..];
    let steps = [sanitize::STEPS, modules, load::LOAD, free_threaded::STEPS, load::SOAK].concat();
    test::run_for(checkout, &steps, Packages::Base, SOAK)
}
