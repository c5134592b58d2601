//! The project's own commands, run as `cargo xtask <command>`.

#![forbid(unsafe_code)]
#![expect(clippy::std_instead_of_core, reason = "a program for a machine that has std")]

mod args;
mod checkout;
mod context;
mod contribute;
mod copy_sources;
mod interpreter;
mod quality;
mod report;
mod run;
mod system;
mod tools;
mod venv;

use std::process::ExitCode;

use args::Request;
use checkout::Checkout;

fn main() -> ExitCode {
    let request = args::parse();
    let outcome = Checkout::find().and_then(|checkout| match request {
        Request::Contribute(request) => contribute::run(request, checkout),
        Request::Quality(request) => quality::run(request, checkout),
    });
    outcome.unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}
