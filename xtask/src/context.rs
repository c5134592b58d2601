//! What steps share, and how a list of steps runs: `Context` is passed down to each.

use std::cell::OnceCell;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::checkout::{Checkout, Outcome};
use crate::contribute::develop::{Build, Profile, TESTED, check_import};
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
    /// The environment of the newest libraries, where a step made one.
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

    /// How the steps build modules for the environment.
    pub(crate) fn build(&self) -> Build {
        let mut build = Build { profile: self.profile, ..Build::of(&self.checkout) };
        if self.profile == Profile::Dev {
            // PyO3 is built again if a build links it in another way, and Rust tests link it with
            // Python's library.
            build.target = self.checkout.target().join("modules");
        }
        build
    }
}

pub(crate) type Body = fn(&Context, &mut Stage) -> Ending;
/// A step: its name, and the function that runs it.
pub(crate) type Step = (&'static str, Body);

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

pub(crate) fn containing(steps: &[Step], part: Option<&str>) -> Vec<Step> {
    let part = part.unwrap_or_default();
    steps.iter().filter(|(name, _)| name.contains(part)).copied().collect()
}

/// What only one step builds, below `target/`, by the end of a step that passed. All of it takes
/// more than a small disk has, and nothing is built twice in CI.
pub(crate) const BUILT_BY_ONE: &[(&str, &[&str])] = &[
    ("workspaces apart", &["apart"]),
    ("public interface", &["public-api"]),
    ("oldest rust", &["oldest-rust"]),
    ("example: shared-memory", &["shared-memory"]),
    ("pyo3 between", &["pyo3-range"]),
    ("valgrind", &["valgrind"]),
    ("miri, core", &["miri"]),
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
pub(crate) fn run_with(
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
    let ending = build_modules(context, environment, stage);
    context.modules.get_or_init(|| ending.is_ok());
    Ok(ending?)
}

fn build_modules(context: &Context, environment: &Environment, stage: &mut Stage) -> Outcome {
    let (checkout, build) = (&context.checkout, context.build());
    build.run(checkout, &environment.interpreter, TESTED, stage)?;
    for module in TESTED {
        check_import(&mut environment.python(checkout), *module, &build.modules, stage)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
