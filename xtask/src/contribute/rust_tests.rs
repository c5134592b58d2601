//! The tests that need no Python.

use std::process::Command;

use crate::context::Context;
use crate::report::{Ending, Stop};
use crate::run::queue::Job;
use crate::run::{Stage, cargo};

/// The packages and features that Rust tests are built with. All steps that run
/// Rust tests name the same, so that each is built once.
pub(crate) const SELECTION: &[&str] = &[
    "--package=dlpack-traits",
    "--package=dlpack-tests",
    "--package=dlpack-hostile",
    "--package=new-device",
    "--features=dlpack-traits/derive,dlpack-traits/half,dlpack-traits/std",
    // They load nothing before they are used, and their examples are compiled.
    "--features=dlpack-traits/cuda,dlpack-traits/oneapi,dlpack-traits/opencl,dlpack-traits/rocm,\
     dlpack-traits/vulkan,dlpack-traits/webgpu",
];

/// Unit, integration and doc tests.
pub(crate) fn rust_tests(context: &Context, stage: &mut Stage) -> Ending {
    // The ABI test finds `dlpack.h` in tvm-ffi's wheel.
    let required = context.environment(stage).ok().map(|it| it.required("header"));
    let job = |name: &str, kind| {
        let mut command = cargo(&context.checkout);
        command.args(["test", "--no-fail-fast", kind]).args(SELECTION);
        // Miri and valgrind do not run proc macros or this program.
        command.args(["--package=dlpack-derive", "--package=xtask"]);
        command.envs(required.as_ref().map(|required| ("DLPACK_REQUIRE", required)));
        Job { name: name.to_owned(), command }
    };
    // Documents are compiled while tests run.
    run_all_tests(stage, vec![job("tests", "--tests"), job("documents", "--doc")])
}

/// The unit tests of the two crates, and the tests of their structure and size.
pub(crate) fn unit_tests(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = cargo(&context.checkout);
    command.arg("test").args(SELECTION).args(["--package=dlpack-derive", "--lib"]);
    command.args(["--test=architecture", "--test=api", "--test=budget"]);
    run_tests(stage, &mut command)
}

/// The test that counts the reads of foreign memory: the optimizer may turn one into two.
pub(crate) fn optimized_reads(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = cargo(&context.checkout);
    command.args(["test", "--release", "--test=hostile"]).args(SELECTION);
    run_tests(stage, &mut command)
}

/// Two kinds of tests that are compiled while they run, so that one is compiled while the other
/// runs:
///
/// - the compiler messages of the derive for invalid input;
/// - the documents about Python, as code. Those that need PyO3's macros, which the crate itself
///   has no use for, are ignored elsewhere.
pub(crate) fn ui_tests_and_python_documents(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    let test = |arguments: &[&str]| {
        let mut command = cargo(&context.checkout);
        command.env("PYO3_PYTHON", &environment.interpreter.executable);
        command.arg("test").args(arguments);
        command
    };
    let job = |name: &str, command| Job { name: name.to_owned(), command };
    let documents = test(&[
        "--doc",
        "--package=dlpack-traits",
        "--features=cudarc,derive,ndarray,pyo3,pyo3/experimental-async,pyo3/macros,rayon",
        "--",
        "--include-ignored",
        // Functions with arguments in memory of a GPU. The driver is loaded at run time, and no
        // example calls it.
        "cudarc",
        // Not the page about the derive: its ignored blocks are parts of one expansion.
        "Readme",
        "guide",
        "parallel",
        "python",
    ]);
    let doctor = test(&["--doc", "--package=dlpack-doctor", "--", "--include-ignored"]);
    let jobs = vec![
        job("ui tests", test(&["--package=ui-tests"])),
        job("documents of the crate", documents),
        job("documents of the doctor", doctor),
    ];
    run_all_tests(stage, jobs)
}

/// As [`run_tests`], for commands that run at the same time.
fn run_all_tests(stage: &mut Stage, jobs: Vec<Job>) -> Ending {
    let before = stage.log_length()?;
    let names: Vec<String> = jobs.iter().map(|job| job.name.clone()).collect();
    stage.run_all(jobs)?;
    let log = stage.logged_since(before);
    match names.iter().find(|name| !some_ran(output_of(&log, name))) {
        Some(name) => Err(Stop::Failed(format!("no test ran: {name}."))),
        None => Ok(()),
    }
}

/// The output of one job in the log of a queue.
fn output_of<'a>(log: &'a str, name: &str) -> &'a str {
    let before = log.split_once(&format!("\n$ {name}: ")).map_or("", |(before, _)| before);
    before.rsplit_once("\n$ ").map_or(before, |(_, output)| output)
}

/// Runs tests, and fails where this command ran none.
pub(crate) fn run_tests(stage: &mut Stage, command: &mut Command) -> Ending {
    let before = stage.log_length()?;
    stage.run(command)?;
    if some_ran(&stage.logged_since(before)) {
        Ok(())
    } else {
        Err(Stop::Failed("no test ran.".to_owned()))
    }
}

/// Whether the output of a test command names a test that passed.
fn some_ran(output: &str) -> bool {
    output.lines().any(|line| {
        line.starts_with("test result: ok.") && !line.starts_with("test result: ok. 0 passed")
    })
}

#[cfg(test)]
mod tests {
    use super::{output_of, some_ran};

    #[test]
    fn output_without_a_passed_test_is_no_run() {
        let none = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 1 ignored\n";
        assert!(!some_ran("") && !some_ran(none));
        assert!(some_ran(&format!("{none}test result: ok. 1 passed; 0 failed; 0 ignored\n")));
    }

    #[test]
    fn the_output_of_one_job_is_found() {
        let log = "$ cargo a\none\n$ a: exit status: 0, 1.0 s\n$ cargo b\ntwo\n$ b: exit status: 0, 2.0 s\n";
        assert_eq!(output_of(log, "b"), "cargo b\ntwo");
        assert!(output_of(log, "a").contains("one") && !output_of(log, "a").contains("two"));
        assert_eq!(output_of(log, "c"), "");
    }
}
