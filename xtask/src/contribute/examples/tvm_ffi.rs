//! `examples/tvm-ffi`: a workspace of its own, because the crate `tvm-ffi` builds beside the Python
//! package only. Rust tests, and a Python program that calls the same library.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::announced;
use crate::report::{Ending, Stop};
use crate::run::{Stage, cargo, path_with};
use crate::venv::{self, Environment, Packages};

const FOLDER: &str = "examples/tvm-ffi";

pub(super) fn run(checkout: &Checkout) -> Outcome {
    announced(checkout, "tvm-ffi", "called by Rust and by Python", |stage| {
        let environment = venv::ensure(checkout, Packages::Base, stage)?;
        try_it(checkout, &environment, stage)
    })
}

pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(target_os = "linux") {
        return Err(Stop::Skipped("the example sets the search path of Linux's loader".to_owned()));
    }
    let environment = context.environment(stage)?;
    Ok(try_it(&context.checkout, environment, stage)?)
}

fn try_it(checkout: &Checkout, environment: &Environment, stage: &mut Stage) -> Outcome {
    let libraries = Command::new(environment.programs().join("tvm-ffi-config"))
        .arg("--libdir")
        .output()
        .map_err(|error| format!("tvm-ffi-config does not start ({error})."))?;
    let libraries = String::from_utf8_lossy(&libraries.stdout).trim().to_owned();
    let target = checkout.target().join("tvm-ffi");
    for command in ["build", "test"] {
        let mut cargo = cargo(checkout);
        cargo
            .args([command, "--locked", "--manifest-path"])
            .arg(checkout.root().join(FOLDER).join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", &target)
            .env("PATH", path_with(&environment.programs())?)
            .env("LD_LIBRARY_PATH", &libraries);
        stage.run(&mut cargo)?;
    }
    let mut python = environment.python(checkout);
    python.arg(checkout.root().join(FOLDER).join("test_functions.py"));
    stage.run(python.arg(target.join(format!("debug/{DLL_PREFIX}points{DLL_SUFFIX}"))))
}
