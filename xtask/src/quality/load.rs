//! `cargo xtask load` and `cargo xtask soak`: many exchanges on many threads, and
//! interpreters that end while tensors are out.

use std::process::{Command, ExitCode};
use std::thread;

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Context, Step, python_environment, python_modules};
use crate::contribute::rust_tests::{SELECTION, run_tests};
use crate::report::Ending;
use crate::run::{Stage, cargo};
use crate::venv::Packages;

/// Exchanges of each of eight threads in each direction.
const ROUNDS: &str = "1000000";
/// Interpreters that end.
const EXITS: &str = "1000";

/// Steps of `cargo xtask load`.
pub(crate) const LOAD: &[Step] =
    &[("load, rust", rust), ("load, python", python), ("interpreter exits", exits)];
/// Steps of `cargo xtask soak`.
pub(crate) const SOAK: &[Step] = &[("soak", soaked)];
/// What steps need that run Python.
pub(crate) const PYTHON: &[Step] =
    &[("python environment", python_environment), ("python modules", python_modules)];

/// A million exchanges on each thread, and a thousand ends.
pub(crate) fn load(checkout: Checkout) -> Outcome<ExitCode> {
    context::run(checkout, &[PYTHON, LOAD].concat(), Packages::Base)
}

/// All directions at once for so many seconds.
pub(crate) fn soak(checkout: Checkout, seconds: u32) -> Outcome<ExitCode> {
    context::run_for(checkout, &[PYTHON, SOAK].concat(), Packages::Base, seconds)
}

/// Tests of `faults`, as fast as users have them.
fn faults(checkout: &Checkout) -> Command {
    let mut command = cargo(checkout);
    command.args(["test", "--release", "--test=faults"]).args(SELECTION);
    command
}

fn rust(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = faults(&context.checkout);
    command.env("DLPACK_LOAD", ROUNDS).args(["load::", "--", "--nocapture", "--test-threads=1"]);
    run_tests(stage, &mut command)
}

fn python(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = context.modules(stage)?.python(&context.checkout);
    Ok(stage.run(command.args(["tests/python/load.py", "--rounds", ROUNDS]))?)
}

fn exits(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = context.modules(stage)?.python(&context.checkout);
    Ok(stage.run(command.args(["tests/python/exits.py", "--rounds", EXITS]))?)
}

/// Rust and Python at the same time, each in a process of its own.
fn soaked(context: &Context, stage: &mut Stage) -> Ending {
    let seconds = context.seconds.to_string();
    let checkout = &context.checkout;
    let mut python = context.modules(stage)?.python(checkout);
    python.args(["tests/python/load.py", "--seconds", &seconds]);
    let mut rust = faults(checkout);
    rust.env("DLPACK_SOAK", &seconds).args(["soak::", "--", "--nocapture", "--include-ignored"]);
    let mut beside = Stage::begin(checkout, "        beside it, in Rust", "soak, rust")?;
    let (ours, theirs) = thread::scope(|scope| {
        let theirs = scope.spawn(|| run_tests(&mut beside, &mut rust));
        (stage.run(&mut python), theirs.join())
    });
    for line in beside.logged().lines().filter(|line| line.contains("exchanges")) {
        stage.note(line);
    }
    ours?;
    theirs.map_err(|_| "the thread of the Rust half panicked.".to_owned())?
}
