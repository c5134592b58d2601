//! `cargo xtask trust`: all that takes too long for `cargo xtask test --full`, for a
//! scheduled job. Its results are in `docs/records/long-runs.md`.

use std::process::ExitCode;

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Step};
use crate::contribute::{mutants, python_tests, test};
use crate::quality::{free_threaded, load, sanitize};
use crate::venv::Packages;

/// The Python tests with modules as users compile them: those of `cargo xtask test --full` are not
/// optimized.
const OPTIMIZED: &[Step] = &[("python tests, optimized", python_tests::python_tests)];
/// The duration of the soak in seconds.
const SOAK: u32 = 3_600;

/// Runs all of it; the exit code says whether any failed.
pub(crate) fn trust(checkout: Checkout) -> Outcome<ExitCode> {
    let own = [OPTIMIZED, test::SCHEDULED, sanitize::STEPS, mutants::ALL].concat();
    let long = [&load::PYTHON[1..], load::LOAD, free_threaded::STEPS, load::SOAK].concat();
    context::run_for(checkout, &[own, long].concat(), Packages::MOST, SOAK)
}
