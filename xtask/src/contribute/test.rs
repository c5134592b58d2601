//! `cargo xtask test`: the steps and their order.

use std::cell::OnceCell;
use std::process::ExitCode;

use crate::Outcome;
use crate::checkout::Checkout;
use crate::contribute::bench::instructions;
use crate::contribute::develop::{Build, Profile, TESTED, check_import};
use crate::contribute::{
    api, checks, demo, device_runtimes, examples, gpu_tests, matrix, mutants, no_python,
    oldest_rust, pictures, pyo3_range, python_tests, rules, rust_tests, vulkan_tests,
};
use crate::quality::{docs_rs, miri, publish, valgrind, wasm, wheels};
use crate::report::{Ending, Report, Stop};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};

/// What steps share.
#[derive(Debug)]
pub(crate) struct Context {
    /// The checkout under test.
    pub(crate) checkout: Checkout,
    packages: Packages,
    /// `None` where it could not be made.
    environment: OnceCell<Option<Environment>>,
    /// Whether the modules could be built.
    modules: OnceCell<bool>,
    /// How they are compiled.
    profile: Profile,
    /// The duration in seconds of steps without an end of their own.
    pub(crate) seconds: u32,
    /// The environment of the newest libraries, where its step made one.
    pub(crate) newest: OnceCell<Environment>,
}

impl Context {
    /// Returns the environment. Makes it where no earlier step did; where an earlier step
    /// failed to, the step that needs it is skipped.
    pub(crate) fn environment(&self, stage: &mut Stage) -> Result<&Environment, Stop> {
        if self.environment.get().is_none() {
            python_environment(self, stage)?;
        }
        self.environment.get().and_then(Option::as_ref).ok_or_else(|| {
            Stop::Skipped("there is no Python environment: see the step that failed".to_owned())
        })
    }

    /// Returns the environment with built modules, under the same conditions.
    pub(crate) fn modules(&self, stage: &mut Stage) -> Result<&Environment, Stop> {
        let environment = self.environment(stage)?;
        if self.modules.get().is_none() {
            python_modules(self, stage)?;
        }
        if self.modules.get() == Some(&true) {
            return Ok(environment);
        }
        Err(Stop::Skipped("there are no Python modules: see the step that failed".to_owned()))
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
    ("ui tests, python documents", rust_tests::ui_tests_and_python_documents),
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
    ("optimized reads", rust_tests::optimized_reads),
    ("gpu tests, simulated", gpu_tests::simulated),
    ("vulkan and webgpu tests", vulkan_tests::vulkan_installed),
    ("ui tests, python documents", rust_tests::ui_tests_and_python_documents),
    ("feature sets", checks::feature_sets),
    ("target without std", checks::target_without_std),
    ("feature sets with pyo3", checks::feature_sets_with_pyo3),
    ("clippy", checks::clippy),
    ("workspaces apart", checks::workspaces_apart),
    ("docs", checks::docs),
    ("public interface", api::step),
    ("oldest rust", oldest_rust::step),
    ("python modules", python_modules),
    ("python tests", python_tests::python_tests),
    ("python tests, simulated gpus", gpu_tests::python_simulated),
    ("objects in libraries", python_tests::objects),
    ("numpy 1", python_tests::numpy_1),
    ("device runtimes", device_runtimes::step),
    ("newest libraries", matrix::newest_libraries),
    ("interop matrix", matrix::interop_matrix),
    ("wheels", wheels::step),
    ("demo", the_demo),
    ("pictures", pictures::step),
    ("packages", publish::packages),
    ("docs without python", docs_rs::step),
    ("example: safetensors", examples::safetensors),
    ("example: functions", examples::functions),
    ("example: notebook", examples::notebook),
    ("example: template", examples::template),
    ("example: wrapped", examples::wrapped),
    ("example: shared-memory", examples::shared_memory),
    ("example: ranks", examples::ranks),
    ("example: coming-from", examples::coming_from),
    ("example: crates", examples::crates),
    ("example: node", examples::node),
    ("oldest pyo3", pyo3_range::oldest_pyo3),
    ("pyo3 between", pyo3_range::series_between),
    ("mutants", mutants::step),
    ("valgrind", valgrind::deleters),
    ("instructions", instructions::step),
    ("no python, address sanitizer", no_python::sanitized),
    ("eigen, address sanitizer", no_python::eigen),
    ("wasm32 in node", wasm::step),
    ("miri, stacked borrows", miri::stacked_borrows_part_once),
    ("miri, tree borrows", miri::tree_borrows_part_once),
    ("miri, other targets", miri::other_targets_once),
    ("cargo-deny", checks::cargo_deny),
];

/// Runs all steps, or those whose names contain `step`; the exit code is a failure where
/// any step failed.
pub(crate) fn test(checkout: Checkout, full: bool, step: Option<&str>) -> Outcome<ExitCode> {
    // Without optimization the first build of the modules takes a third of the time.
    let (steps, packages, profile) = if full {
        (FULL, Packages::MOST, Profile::Release)
    } else {
        (QUICK, Packages::Base, Profile::Dev)
    };
    let chosen = named(steps, step).map_err(|sentence| {
        let in_full = !full && named(FULL, step).is_ok();
        if in_full { format!("{sentence} With `--full` there is one.") } else { sentence }
    })?;
    run_with(checkout, &chosen, packages, profile, 0)
}

/// The steps whose names contain `part`: all of them without a part. A step makes the
/// environment and the modules that it needs, so each can be run alone.
pub(crate) fn named(
    steps: &[(&'static str, Body)],
    part: Option<&str>,
) -> Outcome<Vec<(&'static str, Body)>> {
    let part = part.unwrap_or_default();
    let chosen: Vec<_> = steps.iter().filter(|(name, _)| name.contains(part)).copied().collect();
    if chosen.is_empty() {
        let names: Vec<_> = steps.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "no step has `{part}` in its name; the steps are: {}.",
            names.join("; ")
        ));
    }
    Ok(chosen)
}

/// Runs steps, with an environment of these packages for those that want one.
pub(crate) fn run(
    checkout: Checkout,
    steps: &[(&'static str, Body)],
    packages: Packages,
) -> Outcome<ExitCode> {
    run_for(checkout, steps, packages, 0)
}

/// As [`run`], with a time for those that go on for as long as they are told.
pub(crate) fn run_for(
    checkout: Checkout,
    steps: &[(&'static str, Body)],
    packages: Packages,
    seconds: u32,
) -> Outcome<ExitCode> {
    run_with(checkout, steps, packages, Profile::Release, seconds)
}

fn run_with(
    checkout: Checkout,
    steps: &[(&'static str, Body)],
    packages: Packages,
    profile: Profile,
    seconds: u32,
) -> Outcome<ExitCode> {
    let context = Context {
        checkout,
        packages,
        environment: OnceCell::new(),
        modules: OnceCell::new(),
        profile,
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
    let (made, ending) = match venv::ensure(&context.checkout, context.packages, stage) {
        Ok(environment) => (Some(environment), Ok(())),
        Err(sentence) => (None, Err(Stop::Failed(sentence))),
    };
    context.environment.get_or_init(|| made);
    ending
}

pub(crate) fn python_modules(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    let ending = build_modules(&context.checkout, context.profile, environment, stage);
    context.modules.get_or_init(|| ending.is_ok());
    Ok(ending?)
}

fn build_modules(
    checkout: &Checkout,
    profile: Profile,
    environment: &Environment,
    stage: &mut Stage,
) -> Outcome {
    let build = Build { profile, ..Build::of(checkout) };
    build.run(checkout, &environment.interpreter, TESTED, stage)?;
    for module in TESTED {
        check_import(&mut environment.python(checkout), *module, &build.modules, stage)?;
    }
    Ok(())
}

fn the_demo(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    Ok(stage.run(&mut demo::story(&context.checkout, environment))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_a_part_of_their_name() {
        let names = |steps: &[(&'static str, Body)], part| -> Vec<&'static str> {
            named(steps, part).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(QUICK, None).len(), QUICK.len());
        assert_eq!(names(QUICK, Some("ui")), ["ui tests, python documents"]);
        assert_eq!(names(QUICK, Some("simulated")).len(), 2);
        assert_eq!(names(FULL, Some("miri, tree")), ["miri, tree borrows"]);
        let error = named(QUICK, Some("miri")).unwrap_err();
        assert!(error.contains("`miri`") && error.contains("ui tests"), "{error}");
    }

    /// `--full` has every step of the quick run, so a name found there is found here.
    #[test]
    fn the_full_run_has_all_quick_steps() {
        for (name, _) in QUICK {
            assert!(FULL.iter().any(|(full, _)| full == name), "{name}");
        }
    }
}
