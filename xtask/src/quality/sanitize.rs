//! `cargo xtask sanitize`: runs the tests under sanitizers and valgrind.
//! others do not see.

use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::context;
use crate::context::{Context, Step};
use crate::contribute::no_python;
use crate::contribute::rust_tests::{SELECTION, run_tests};
use crate::quality::nightly::{NO_ASM, PLATFORM, TOOLCHAIN, nightly};
use crate::quality::{asan_python, loom, miri, valgrind};
use crate::report::{Ending, missing};
use crate::run::{EXTENSION_MODULE, Stage, answer_of, cargo, cargo_of};
use crate::tools;
use crate::venv::Packages;

/// The system's own Python, for which valgrind has suppressions.
const PYTHON: &str = "/usr/bin/python3";
/// The suppression file.
const SUPPRESSIONS: &str = "/usr/lib/valgrind/python3.supp";

/// All tests that need no Python, except doc tests.
const ALL_TESTS: &[&str] = &["--lib", "--tests"];
/// Tests with threads. Those that read sources take very long under a sanitizer that
/// counts every access.
const THREADED_TESTS: &[&str] = &[
    "--lib",
    "--test=copy",
    "--test=deleter",
    "--test=devices",
    "--test=exchange",
    "--test=faults",
    "--test=sync_for",
    "--test=import",
    "--test=share",
    "--test=shared",
    "--test=shared_odd",
    "--test=threads",
];

/// Steps of `cargo xtask sanitize`.
pub(crate) const STEPS: &[Step] = &[
    ("python environment", context::python_environment),
    ("address sanitizer", address),
    ("leak sanitizer", leak),
    ("thread sanitizer", thread),
    ("cargo-careful", careful),
    ("valgrind", valgrind::deleters),
    ("valgrind, cpython", cpython),
    ("cpython, address sanitizer", asan_python::cpython),
    ("no python, address sanitizer", no_python::sanitized),
    ("eigen, address sanitizer", no_python::eigen),
    ("loom", loom::models),
    ("miri, stacked borrows", miri::stacked_borrows),
    ("miri, tree borrows", miri::tree_borrows),
    ("miri, other targets", miri::other_targets),
    ("miri, many seeds", miri::many_seeds),
];

/// Runs all steps, or those whose names contain `step`; the exit code is a failure where
/// any step failed.
pub(crate) fn sanitize(checkout: Checkout, step: Option<&str>) -> Outcome<ExitCode> {
    context::run(checkout, &context::named(STEPS, step)?, Packages::Base)
}

/// Detects accesses outside of allocations and after their end.
fn address(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = sanitized(context, "address", ALL_TESTS);
    // Tests that watch pages have handlers of their own; what asks for more memory
    // than there is expects an error.
    command.env("ASAN_OPTIONS", "detect_leaks=1:handle_segv=0:allocator_may_return_null=1");
    with(stage, "asan", &mut command)
}

/// Detects leaks.
fn leak(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = sanitized(context, "leak", ALL_TESTS);
    command.env("LSAN_OPTIONS", "handle_segv=0:allocator_may_return_null=1");
    with(stage, "lsan", &mut command)
}

/// Detects data races. The standard library is instrumented too; otherwise its
/// synchronization would be invisible to the sanitizer.
fn thread(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = miri::install(stage) {
        return missing("tsan", reason);
    }
    let mut command = sanitized(context, "thread", THREADED_TESTS);
    command.arg("-Zbuild-std");
    // The device of the tests has threads that wait for work until the process ends.
    let options = "report_thread_leaks=0:handle_segv=0:allocator_may_return_null=1";
    command.env("TSAN_OPTIONS", options);
    with(stage, "tsan", &mut command)
}

/// Rust tests, built with a sanitizer.
fn sanitized(context: &Context, sanitizer: &str, tests: &[&str]) -> Command {
    let checkout = &context.checkout;
    let mut command = cargo_of(checkout, TOOLCHAIN);
    // Build scripts are not sanitized, because a target is named.
    command
        .env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} {NO_ASM}"))
        .env("CARGO_INCREMENTAL", "0")
        // Tells tests that measure memory that a sanitizer retains freed memory.
        .env("DLPACK_SANITIZED", "1")
        .args(["test", "--no-fail-fast", "--target", PLATFORM])
        .args(tests)
        .args(SELECTION)
        .arg("--target-dir")
        .arg(checkout.target().join("sanitize"));
    command
}

/// Runs tests, where there is a nightly compiler for this platform.
fn with(stage: &mut Stage, tool: &str, command: &mut Command) -> Ending {
    match nightly() {
        Ok(()) => run_tests(stage, command),
        Err(reason) => missing(tool, reason),
    }
}

/// Runs the tests with a standard library that checks the preconditions of its `unsafe`
/// functions.
fn careful(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    if let Err(reason) = miri::install(stage) {
        return missing("cargo-careful", reason);
    }
    let folder = match tools::ensure(checkout, "cargo-careful", stage) {
        Ok(folder) => folder,
        Err(reason) => return missing("cargo-careful", reason),
    };
    let mut command = tools::with_first(&folder, cargo_of(checkout, TOOLCHAIN));
    command.args(["careful", "test", "--no-fail-fast", "--lib", "--tests"]).args(SELECTION);
    command.arg("--target-dir").arg(checkout.target().join("careful"));
    run_tests(stage, &mut command)
}

/// Runs the extension module in an interpreter under valgrind.
fn cpython(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = valgrind::install(stage) {
        return missing("valgrind", reason);
    }
    let absent = |what: &str| missing("valgrind", format!("there is no {what}"));
    if answer_of(PYTHON, &["--version"]).is_none() {
        return absent(PYTHON);
    }
    if !std::path::Path::new(SUPPRESSIONS).exists() {
        return absent(SUPPRESSIONS);
    }
    let checkout = &context.checkout;
    let target = checkout.target().join("valgrind");
    let mut build = cargo(checkout);
    build
        .env("PYO3_PYTHON", PYTHON)
        .envs([EXTENSION_MODULE])
        .env("CARGO_INCREMENTAL", "0")
        .args(["rustc", "--lib", "--package=dlpack-testing", "--target-dir"])
        .arg(&target);
    stage.run(&mut build)?;
    let module = target.join("dlpack_testing.so");
    std::fs::copy(target.join("debug/libdlpack_testing.so"), &module)
        .map_err(|error| format!("{} cannot be written ({error}).", module.display()))?;
    let mut command = Command::new("valgrind");
    command
        .args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"])
        .arg(format!("--suppressions={SUPPRESSIONS}"))
        .arg("--suppressions=tests/python/pyo3.supp")
        .args([PYTHON, "-I", "tests/python/rounds_under_valgrind.py"])
        .arg(&target)
        .env("PYTHONMALLOC", "malloc")
        .current_dir(checkout.root());
    Ok(stage.run(&mut command)?)
}
