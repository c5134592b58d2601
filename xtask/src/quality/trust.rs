//! `cargo xtask trust`: all that takes too long for `cargo xtask test --full`, for a
//! scheduled job. Its results are in `docs/records/long-runs.md`.

use std::process::ExitCode;

use crate::checkout::{Checkout, Outcome};
use crate::context;
use crate::contribute::{mutants, test};
use crate::quality::{free_threaded, load, sanitize};
use crate::venv::Packages;

/// The duration of the soak in seconds.
const SOAK: u32 = 3_600;

/// Runs all of it; the exit code says whether any failed.
pub(crate) fn trust(checkout: Checkout) -> Outcome<ExitCode> {
    let modules = &load::PYTHON[1..];
    let free = free_threaded::STEPS;
    let lists =
        [test::SCHEDULED, sanitize::STEPS, mutants::ALL, modules, load::LOAD, free, load::SOAK];
    let steps = lists.concat();
    context::run_for(checkout, &steps, Packages::MOST, SOAK)
}
