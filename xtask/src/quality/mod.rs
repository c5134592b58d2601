//! The commands that only quality runs need: long runs, and steps before a release. Some
//! are also steps of `cargo xtask test --full`.

mod asan_python;
pub(crate) mod docs_rs;
pub(crate) mod free_threaded;
pub(crate) mod fuzz;
mod gpu;
mod load;
mod loom;
pub(crate) mod miri;
pub(crate) mod nightly;
pub(crate) mod publish;
pub(crate) mod sanitize;
mod trust;
pub(crate) mod valgrind;
pub(crate) mod wasm;
pub(crate) mod wheels;

use std::process::ExitCode;

use crate::args::Quality;
use crate::checkout::{Checkout, Outcome};

/// Runs one command.
pub(crate) fn run(request: Quality, checkout: Checkout) -> Outcome<ExitCode> {
    match request {
        Quality::Sanitize { step } => sanitize::sanitize(checkout, step.as_deref()),
        Quality::Fuzz(fuzz) => fuzz::fuzz(&checkout, &fuzz.choice()).map(|()| ExitCode::SUCCESS),
        Quality::Load => load::load(checkout),
        Quality::Soak { seconds } => load::soak(checkout, seconds),
        Quality::FreeThreaded { step } => free_threaded::free_threaded(checkout, step.as_deref()),
        Quality::Trust => trust::trust(checkout),
        Quality::Gpu { bundle } => gpu::gpu(&checkout, bundle.as_deref()),
        Quality::Wheels => wheels::wheels(checkout),
        Quality::Publishable => publish::publishable(checkout),
    }
}
