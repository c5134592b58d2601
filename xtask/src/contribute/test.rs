//! `cargo xtask test`: the steps and their order.

use std::process::ExitCode;

use crate::checkout::{Checkout, Outcome};
use crate::context::{
    Context, Step, containing, named, python_environment, python_modules, run, run_with,
};
use crate::contribute::bench::instructions;
use crate::contribute::develop::Profile;
use crate::contribute::{
    api, checks, demo, device_runtimes, examples, gpu_tests, matrix, no_python, oldest_rust,
    pictures, pyo3_range, python_tests, rules, rust_tests, vulkan_tests,
};
use crate::quality::{docs_rs, miri, publish, valgrind, wasm, wheels};
use crate::report::Ending;
use crate::run::Stage;
use crate::venv::Packages;

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
    ("rust tests", rust_tests::rust_tests),
    ("vulkan and webgpu tests", vulkan_tests::vulkan_installed),
    ("ui tests, python documents", rust_tests::ui_tests_and_python_documents),
    ("clippy", checks::clippy),
    ("docs", checks::docs),
    ("feature sets", checks::feature_sets),
    ("target without std", checks::target_without_std),
    ("public interface", api::step),
    ("oldest rust", oldest_rust::step),
    ("no python, address sanitizer", no_python::sanitized),
    ("eigen, address sanitizer", no_python::eigen),
    ("valgrind", valgrind::deleters),
    ("cargo-deny", checks::cargo_deny),
    ("workspaces apart", checks::workspaces_apart),
    ("packages", publish::packages),
    ("miri, core", miri::core),
];

/// Steps of `cargo xtask test --full` that run one after the other, beside [`FULL`]: those that need
/// the modules of [`python_modules`], which are built in a folder of their own, and others that build
/// in their own.
const FULL_BESIDE: &[Step] = &[
    ("python environment", python_environment),
    ("python modules", python_modules),
    ("python tests", python_tests::python_tests),
    ("gpu tests, simulated", gpu_tests::simulated),
    ("python tests, simulated gpus", gpu_tests::python_simulated),
    ("objects in libraries", python_tests::objects),
    ("numpy 1", python_tests::numpy_1),
    ("device runtimes", device_runtimes::step),
    ("newest libraries", matrix::newest_libraries),
    ("demo", the_demo),
    ("pictures", pictures::step),
    ("example: functions", |context, stage| examples::FUNCTIONS.step(context, stage)),
    ("example: cuda-kernel", gpu_tests::example_kernel),
    ("example: safetensors", |context, stage| examples::SAFETENSORS.step(context, stage)),
    ("example: notebook", |context, stage| examples::NOTEBOOK.step(context, stage)),
    ("example: ranks", examples::ranks),
    ("example: torch-operators", |context, stage| examples::TORCH_OPERATORS.step(context, stage)),
    ("example: jax-ffi", |context, stage| examples::JAX_FFI.step(context, stage)),
    ("example: template", examples::template),
];

/// Steps that are long and that a change breaks rarely: `cargo xtask trust` runs them, and
/// `cargo xtask test --full --step NAME` one of them. `docs/records/long-runs.md` says when each ran
/// last.
pub(crate) const SCHEDULED: &[Step] = &[
    ("optimized reads", rust_tests::optimized_reads),
    ("instructions", instructions::step),
    ("each feature", checks::each_feature),
    ("wasm32 in node", wasm::step),
    ("docs without python", docs_rs::step),
    ("interop matrix", matrix::interop_matrix),
    ("oldest libraries", python_tests::oldest_libraries),
    ("wheels", wheels::step),
    ("oldest pyo3", pyo3_range::oldest_pyo3),
    ("pyo3 between", pyo3_range::series_between),
    ("example: shared-memory", examples::shared_memory),
    ("example: wrapped", |context, stage| examples::WRAPPED.step(context, stage)),
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

/// Runs all steps, or those whose names contain `step`; the exit code is a failure where
/// any step failed.
pub(crate) fn test(checkout: Checkout, full: bool, step: Option<&str>) -> Outcome<ExitCode> {
    // Without optimization the first build of the modules takes a third of the time.
    let (lists, packages) = if full {
        ([FULL, FULL_BESIDE], Packages::MOST)
    } else {
        ([QUICK, QUICK_BESIDE], Packages::Base)
    };
    let all = [FULL, FULL_BESIDE, SCHEDULED].concat();
    let known = if full { all.clone() } else { lists.concat() };
    named(&known, step).map_err(|sentence| {
        let in_full = named(&all, step).is_ok();
        if in_full { format!("{sentence} With `--full` there is one.") } else { sentence }
    })?;
    let [mut steps, beside] = lists.map(|steps| containing(steps, step));
    if full && step.is_some() {
        steps.extend(containing(SCHEDULED, step));
    }
    run_with(checkout, (&steps, &beside), packages, Profile::Dev, 0)
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
        assert_eq!(names(FULL, Some("miri")), ["miri, core"]);
        let error = named(QUICK, Some("miri")).unwrap_err();
        assert!(error.contains("`miri`") && error.contains("ui tests"), "{error}");
    }

    /// `--full` has every step of the quick run, so a name found there is found here.
    #[test]
    fn the_full_run_has_all_quick_steps() {
        for (name, _) in QUICK.iter().chain(QUICK_BESIDE) {
            let mut full = FULL.iter().chain(FULL_BESIDE);
            assert!(full.any(|(full, _)| full == name), "{name}");
        }
    }

    #[test]
    fn the_record_says_when_scheduled_steps_ran() {
        let record = include_str!("../../../docs/records/long-runs.md");
        for (name, _) in SCHEDULED {
            assert!(!FULL.iter().chain(FULL_BESIDE).any(|(full, _)| full == name), "{name}");
            let row = format!("\n| `{name}` | 20");
            assert!(record.contains(&row), "docs/records/long-runs.md has no date of `{name}`");
        }
    }

    #[test]
    fn folders_are_removed_by_steps_that_there_are() {
        let steps = [FULL, FULL_BESIDE, SCHEDULED].concat();
        for (name, folders) in crate::context::BUILT_BY_ONE {
            assert!(steps.iter().any(|(step, _)| step == name), "{name}");
            assert!(!folders.is_empty(), "{name}");
        }
    }
}
