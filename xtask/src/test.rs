//! `cargo xtask test`: the steps and their order.

use std::cell::{Cell, OnceCell};
use std::process::ExitCode;

use crate::checkout::Checkout;
use crate::develop::{Build, TESTED, check_import};
use crate::report::{Ending, Report, Stop};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};
use crate::{
    Outcome, api, checks, demo, device_runtimes, examples, gpu_tests, instructions, matrix, miri,
    mutants, no_python, pictures, publish, pyo3_range, python_tests, rules, rust_tests, valgrind,
    vulkan_tests, wheels,
};

/// What steps share.
#[derive(Debug)]
pub(crate) struct Context {
    /// The checkout under test.
    pub(crate) checkout: Checkout,
    packages: Packages,
    environment: OnceCell<Environment>,
    modules: Cell<bool>,
    /// How long what has no end of its own goes on.
    pub(crate) seconds: u32,
    /// The environment of the newest libraries, where its step made one.
    pub(crate) newest: OnceCell<Environment>,
}

impl Context {
    /// The environment, or why a step that needs it is skipped.
    pub(crate) fn environment(&self) -> Result<&Environment, Stop> {
        self.environment.get().ok_or_else(|| {
            Stop::Skipped("there is no Python environment: see that step".to_owned())
        })
    }

    /// The environment with built modules, or why a step that needs them is skipped.
    pub(crate) fn modules(&self) -> Result<&Environment, Stop> {
        let environment = self.environment()?;
        if self.modules.get() {
            return Ok(environment);
        }
        Err(Stop::Skipped("there are no Python modules: see that step".to_owned()))
    }
}

pub(crate) type Body = fn(&Context, &mut Stage) -> Ending;

/// Steps of `cargo xtask test`.
const QUICK: &[(&str, Body)] = &[
    ("rules", rules::step),
    ("python environment", python_environment),
    ("rust tests", rust_tests::rust_tests),
    ("gpu tests, simulated", gpu_tests::simulated),
    ("vulkan and webgpu tests", vulkan_tests::vulkan),
    ("ui tests", rust_tests::ui_tests),
    ("feature sets", checks::feature_sets),
    ("feature sets with pyo3", checks::feature_sets_with_pyo3),
    ("python documents", rust_tests::python_documents),
    ("python modules", python_modules),
    ("python tests", python_tests::python_tests),
    ("python tests, simulated gpus", gpu_tests::python_simulated),
];

/// Steps of `cargo xtask test --full`.
const FULL: &[(&str, Body)] = &[
    ("lock file", checks::lock_file),
    ("rustfmt", checks::rustfmt),
    ("rules", rules::step),
    ("python environment", python_environment),
    ("rust tests", rust_tests::rust_tests),
    ("gpu tests, simulated", gpu_tests::simulated),
    ("vulkan and webgpu tests", vulkan_tests::vulkan_installed),
    ("ui tests", rust_tests::ui_tests),
    ("feature sets", checks::feature_sets),
    ("target without std", checks::target_without_std),
    ("feature sets with pyo3", checks::feature_sets_with_pyo3),
    ("python documents", rust_tests::python_documents),
    ("clippy", checks::clippy),
    ("workspaces apart", checks::workspaces_apart),
    ("docs", checks::docs),
    ("public interface", api::step),
    ("oldest rust", checks::oldest_rust),
    ("python modules", python_modules),
    ("python tests", python_tests::python_tests),
    ("python tests, simulated gpus", gpu_tests::python_simulated),
    ("device runtimes", device_runtimes::step),
    ("newest libraries", matrix::newest_libraries),
    ("interop matrix", matrix::interop_matrix),
    ("wheels", wheels::step),
    ("demo", the_demo),
    ("pictures", pictures::step),
    ("packages", publish::packages),
    ("example: safetensors", examples::safetensors),
    ("example: notebook", examples::notebook),
    ("example: template", examples::template),
    ("example: wrapped", examples::wrapped),
    ("example: ranks", examples::ranks),
    ("example: coming-from", examples::coming_from),
    ("oldest pyo3", pyo3_range::oldest_pyo3),
    ("pyo3 between", pyo3_range::series_between),
    ("mutants", mutants::step),
    ("valgrind", valgrind::deleters),
    ("instructions", instructions::step),
    ("no python, address sanitizer", no_python::sanitized),
    ("miri, stacked borrows", miri::stacked_borrows),
    ("miri, tree borrows", miri::tree_borrows),
    ("cargo-deny", checks::cargo_deny),
];

/// Runs all steps; the exit code says whether any failed.
pub(crate) fn test(checkout: Checkout, full: bool) -> Outcome<ExitCode> {
    let (steps, packages) = if full { (FULL, Packages::MOST) } else { (QUICK, Packages::Base) };
    run(checkout, steps, packages)
}

/// Runs steps, with an environment of these packages for those that want one.
pub(crate) fn run(
    checkout: Checkout,
    steps: &[(&'static str, Body)],
    packages: Packages,
) -> Outcome<ExitCode> {
    run_for(checkout, steps, packages, 0)
}

/// The same, with a time for those that go on for as long as they are told.
pub(crate) fn run_for(
    checkout: Checkout,
    steps: &[(&'static str, Body)],
    packages: Packages,
    seconds: u32,
) -> Outcome<ExitCode> {
    let context = Context {
        checkout,
        packages,
        environment: OnceCell::new(),
        modules: Cell::new(false),
        seconds,
        newest: OnceCell::new(),
    };
    let mut report = Report::default();
    for (index, (name, body)) in steps.iter().enumerate() {
        report.step(&context.checkout, (index + 1, steps.len()), name, |stage| {
            body(&context, stage)
        })?;
    }
    println!("{}", report.table());
    Ok(if report.any_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(crate) fn python_environment(context: &Context, stage: &mut Stage) -> Ending {
    let environment = venv::ensure(&context.checkout, context.packages, stage)?;
    context.environment.get_or_init(|| environment);
    Ok(())
}

pub(crate) fn python_modules(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment()?;
    let checkout = &context.checkout;
    let build = Build::of(checkout);
    build.run(checkout, &environment.interpreter, TESTED, stage)?;
    for module in TESTED {
        check_import(&mut environment.python(checkout), *module, &build.modules, stage)?;
    }
    context.modules.set(true);
    Ok(())
}

fn the_demo(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules()?;
    Ok(stage.run(&mut demo::story(&context.checkout, environment))?)
}
