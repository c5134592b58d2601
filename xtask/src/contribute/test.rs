//! `cargo xtask test`: the steps and their order.

use std::cell::OnceCell;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

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
use crate::run::{HEARTBEAT, Screen, Stage, TICK};
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
/// A step: its name, and the function that runs it.
pub(crate) type Step = (&'static str, Body);

/// Steps of `cargo xtask check`.
const CHECK: &[Step] = &[
    ("rustfmt", checks::rustfmt),
    ("clippy of the crates", checks::clippy_of_the_crates),
    ("unit tests", rust_tests::unit_tests),
    ("rules", rules::step),
];

/// Steps of `cargo xtask test`.
const QUICK: &[Step] = &[
    ("rules", rules::step),
    ("rust tests", rust_tests::rust_tests),
    ("vulkan and webgpu tests", vulkan_tests::vulkan),
    ("ui tests, python documents", rust_tests::ui_tests_and_python_documents),
];

/// Steps of `cargo xtask test` that run one after the other, beside [`QUICK`].
const QUICK_BESIDE: &[Step] = &[
    ("python environment", python_environment),
    ("python modules", python_modules),
    ("python tests", python_tests::python_tests),
    ("gpu tests, simulated", gpu_tests::simulated),
    ("python tests, simulated gpus", gpu_tests::python_simulated),
];

/// Steps of `cargo xtask test --full`.
const FULL: &[Step] = &[
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
    ("demo", the_demo),
    ("pictures", pictures::step),
    ("example: cuda-kernel", gpu_tests::example_kernel),
    ("example: safetensors", examples::safetensors),
    ("example: functions", examples::functions),
    ("example: notebook", examples::notebook),
    ("example: shared-memory", examples::shared_memory),
    ("example: ranks", examples::ranks),
    ("example: torch-operators", examples::torch_operators),
    ("example: jax-ffi", examples::jax_ffi),
    ("oldest pyo3", pyo3_range::oldest_pyo3),
    ("pyo3 between", pyo3_range::series_between),
    ("valgrind", valgrind::deleters),
    ("cargo-deny", checks::cargo_deny),
];

/// Steps of `cargo xtask test --full` that run one after the other, beside [`FULL`]. They need none
/// of the modules of [`python_modules`], and most of them build in folders of their own; cargo
/// orders the others. One list alone leaves a quarter of two processors idle.
const FULL_BESIDE: &[Step] = &[
    ("miri, stacked borrows", miri::stacked_borrows_part_once),
    ("miri, tree borrows", miri::tree_borrows_part_once),
    ("miri, other targets", miri::other_targets_once),
    ("mutants", mutants::step),
    ("instructions", instructions::step),
    ("no python, address sanitizer", no_python::sanitized),
    ("eigen, address sanitizer", no_python::eigen),
    ("wasm32 in node", wasm::step),
    ("wheels", wheels::step),
    ("packages", publish::packages),
    ("docs without python", docs_rs::step),
    ("example: template", examples::template),
    ("example: wrapped", examples::wrapped),
    ("example: coming-from", examples::coming_from),
    ("example: crates", examples::crates),
    ("example: node", examples::node),
    ("example: two-versions", examples::two_versions),
    ("example: tvm-ffi", examples::tvm_ffi),
];

/// Runs what a commit needs, one step after the other.
pub(crate) fn check(checkout: Checkout) -> Outcome<ExitCode> {
    run(checkout, CHECK, Packages::Base)
}

/// What only one step builds, below `target/`, by the end of a step that passed. All of it takes
/// more than a small disk has, and nothing is built twice in CI.
const BUILT_BY_ONE: &[(&str, &[&str])] = &[
    ("workspaces apart", &["apart"]),
    ("public interface", &["public-api"]),
    ("oldest rust", &["oldest-rust"]),
    ("example: shared-memory", &["shared-memory"]),
    ("pyo3 between", &["pyo3-range"]),
    ("valgrind", &["valgrind"]),
    // The other two interpretations are before it.
    ("miri, other targets", &["miri"]),
    ("mutants", &["mutants"]),
    ("eigen, address sanitizer", &["no-python"]),
    ("wasm32 in node", &["wasm32-unknown-unknown"]),
    ("wheels", &["wheels/target"]),
    ("docs without python", &["docs-rs"]),
    ("example: template", &["template"]),
    ("example: wrapped", &["wrapped"]),
    ("example: coming-from", &["coming-from"]),
    ("example: crates", &["crates", "onnxruntime"]),
    ("example: node", &["node"]),
    ("example: two-versions", &["two-versions"]),
    ("example: tvm-ffi", &["tvm-ffi"]),
];

/// Removes what the step `name` has built and no other step uses.
fn remove_built(checkout: &Checkout, name: &str) {
    let folders = BUILT_BY_ONE.iter().find(|(step, _)| *step == name).map(|(_, folders)| *folders);
    for folder in folders.unwrap_or_default() {
        // What is left takes space, and harms nothing.
        _ = std::fs::remove_dir_all(checkout.target().join(folder));
    }
}

/// Runs all steps, or those whose names contain `step`; the exit code is a failure where
/// any step failed.
pub(crate) fn test(checkout: Checkout, full: bool, step: Option<&str>) -> Outcome<ExitCode> {
    // Without optimization the first build of the modules takes a third of the time.
    let (lists, packages, profile) = if full {
        ([FULL, FULL_BESIDE], Packages::MOST, Profile::Release)
    } else {
        ([QUICK, QUICK_BESIDE], Packages::Base, Profile::Dev)
    };
    named(&lists.concat(), step).map_err(|sentence| {
        let in_full = !full && named(&[FULL, FULL_BESIDE].concat(), step).is_ok();
        if in_full { format!("{sentence} With `--full` there is one.") } else { sentence }
    })?;
    let [steps, beside] = lists.map(|steps| containing(steps, step));
    run_with(checkout, (&steps, &beside), packages, profile, 0)
}

/// The steps whose names contain `part`: all of them without a part. A step makes the
/// environment and the modules that it needs, so each can be run alone.
pub(crate) fn named(steps: &[Step], part: Option<&str>) -> Outcome<Vec<Step>> {
    let chosen = containing(steps, part);
    let part = part.unwrap_or_default();
    if chosen.is_empty() {
        let names: Vec<_> = steps.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "no step has `{part}` in its name; the steps are: {}.",
            names.join("; ")
        ));
    }
    Ok(chosen)
}

fn containing(steps: &[Step], part: Option<&str>) -> Vec<Step> {
    let part = part.unwrap_or_default();
    steps.iter().filter(|(name, _)| name.contains(part)).copied().collect()
}

/// Runs steps, with an environment of these packages for those that want one.
pub(crate) fn run(checkout: Checkout, steps: &[Step], packages: Packages) -> Outcome<ExitCode> {
    run_for(checkout, steps, packages, 0)
}

/// As [`run`], with a time for those that go on for as long as they are told.
pub(crate) fn run_for(
    checkout: Checkout,
    steps: &[Step],
    packages: Packages,
    seconds: u32,
) -> Outcome<ExitCode> {
    run_with(checkout, (steps, &[]), packages, Profile::Release, seconds)
}

/// Runs two lists of steps at the same time, each one after the other.
fn run_with(
    checkout: Checkout,
    (steps, beside): (&[Step], &[Step]),
    packages: Packages,
    profile: Profile,
    seconds: u32,
) -> Outcome<ExitCode> {
    let (begun, total) = (AtomicUsize::new(0), steps.len() + beside.len());
    let run = |checkout, steps: &[Step], screen, report: &mut Report| -> Outcome {
        let context = Context {
            checkout,
            packages,
            environment: OnceCell::new(),
            modules: OnceCell::new(),
            profile,
            seconds,
            newest: OnceCell::new(),
        };
        for &(name, body) in steps {
            let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
            report.step((&context.checkout, screen), (number, total), name, |stage| {
                let ending = body(&context, stage);
                if ending.is_ok() && std::env::var_os("CI").is_some() {
                    remove_built(&context.checkout, name);
                }
                ending
            })?;
        }
        Ok(())
    };
    let (mut report, mut other) = (Report::default(), Report::default());
    let outcome = if steps.is_empty() || beside.is_empty() {
        run(checkout, if steps.is_empty() { beside } else { steps }, Screen::Direct, &mut report)
    } else {
        let copy = checkout.clone();
        thread::scope(|scope| {
            let beside = scope.spawn(|| run(copy, beside, Screen::Held, &mut other));
            let outcome = run(checkout, steps, Screen::Direct, &mut report);
            let mut shown = Instant::now();
            while !beside.is_finished() {
                thread::sleep(TICK);
                if shown.elapsed() >= HEARTBEAT {
                    shown = Instant::now();
                    println!("        the steps beside are still running");
                }
            }
            outcome.and(beside.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    };
    report.append(other);
    println!("{}", report.table());
    outcome?;
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
    let mut build = Build { profile, ..Build::of(checkout) };
    if profile == Profile::Dev {
        // PyO3 is built again if a build links it in another way, and Rust tests link it with
        // Python's library.
        build.target = checkout.target().join("modules");
    }
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
        let names = |steps: &[Step], part| -> Vec<&'static str> {
            named(steps, part).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(QUICK, None).len(), QUICK.len());
        assert_eq!(names(QUICK, Some("ui")), ["ui tests, python documents"]);
        assert_eq!(names(&[QUICK, QUICK_BESIDE].concat(), Some("simulated")).len(), 2);
        assert_eq!(names(FULL_BESIDE, Some("miri, tree")), ["miri, tree borrows"]);
        let error = named(QUICK, Some("miri")).unwrap_err();
        assert!(error.contains("`miri`") && error.contains("ui tests"), "{error}");
    }

    #[test]
    fn folders_are_removed_by_steps_that_there_are() {
        let steps = [FULL, FULL_BESIDE].concat();
        for (name, folders) in BUILT_BY_ONE {
            assert!(steps.iter().any(|(step, _)| step == name), "{name}");
            assert!(!folders.is_empty(), "{name}");
        }
    }

    #[test]
    fn both_lists_run_and_a_failure_of_either_counts() {
        let ending_of = |first: Body, second: Body| {
            let checkout = Checkout::find().unwrap();
            let lists: (&[Step], &[Step]) = (&[("a list", first)], &[("beside", second)]);
            run_with(checkout, lists, Packages::Base, Profile::Dev, 0).unwrap()
        };
        let passing: Body = |_, _| Ok(());
        let failing: Body = |_, stage| {
            stage.note("this step fails");
            Err(Stop::Failed("it fails".to_owned()))
        };
        assert_eq!(ending_of(passing, passing), ExitCode::SUCCESS);
        assert_eq!(ending_of(passing, failing), ExitCode::FAILURE);
        assert_eq!(ending_of(failing, passing), ExitCode::FAILURE);
    }

    /// `--full` has every step of the quick run, so a name found there is found here.
    #[test]
    fn the_full_run_has_all_quick_steps() {
        for (name, _) in QUICK.iter().chain(QUICK_BESIDE) {
            assert!(FULL.iter().any(|(full, _)| full == name), "{name}");
        }
    }
}
