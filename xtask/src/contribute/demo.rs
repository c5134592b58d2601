//! `cargo xtask demo`: the example's story, from nothing.

use std::process::{Command, Stdio};

use crate::checkout::{Checkout, Outcome};
use crate::contribute::develop;
use crate::venv::{Environment, Packages};

/// Builds the example module and runs its story in this terminal.
pub(crate) fn demo(checkout: &Checkout, packages: Packages) -> Outcome {
    let environment = develop::develop(checkout, packages)?;
    println!();
    let status = story(checkout, &environment).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(format!("examples/python/demo.py ended with {status}; see its words above."))
        }
        Err(error) => Err(format!(
            "target/venv/bin/python does not start ({error}); remove target/venv, then run this again."
        )),
    }
}

/// The command that tells the story.
pub(crate) fn story(checkout: &Checkout, environment: &Environment) -> Command {
    let mut command = environment.python(checkout);
    command.args(["examples/python/demo.py", "--out", "target/demo"]);
    command
}
