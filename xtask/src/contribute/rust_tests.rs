//! The tests that need no Python.

use std::process::Command;

use crate::contribute::test::Context;
use crate::report::{Ending, Stop};
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
    let mut command = cargo(&context.checkout);
    command.args(["test", "--no-fail-fast"]).args(SELECTION);
    // Miri and valgrind do not run proc macros or this program.
    command.args(["--package=dlpack-derive", "--package=xtask"]);
    if let Ok(environment) = context.environment(stage) {
        // The ABI test finds `dlpack.h` in tvm-ffi's wheel.
        command.env("DLPACK_REQUIRE", environment.required("header"));
    }
    run_tests(stage, &mut command)
}

/// The test that counts the reads of foreign memory: the optimizer may turn one into two.
pub(crate) fn optimized_reads(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = cargo(&context.checkout);
    command.args(["test", "--release", "--test=hostile"]).args(SELECTION);
    run_tests(stage, &mut command)
}

/// Checks the compiler messages of the derive for invalid input.
pub(crate) fn ui_tests(context: &Context, stage: &mut Stage) -> Ending {
    run_tests(stage, cargo(&context.checkout).args(["test", "--package=ui-tests"]))
}

/// The documents about Python, as code. Those that need PyO3's macros, which the
/// crate itself has no use for, are ignored elsewhere.
pub(crate) fn python_documents(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    let mut command = cargo(&context.checkout);
    command
        .env("PYO3_PYTHON", &environment.interpreter.executable)
        .args(["test", "--doc", "--package=dlpack-traits"])
        .args(["--features=derive,ndarray,pyo3,pyo3/macros", "--", "--include-ignored"])
        // Not the page about the derive: its ignored blocks are parts of one expansion.
        .args(["Readme", "guide", "python"]);
    run_tests(stage, &mut command)?;
    let mut doctor = cargo(&context.checkout);
    doctor.env("PYO3_PYTHON", &environment.interpreter.executable).args([
        "test",
        "--doc",
        "--package=dlpack-doctor",
        "--",
        "--include-ignored",
    ]);
    run_tests(stage, &mut doctor)
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
    use super::some_ran;

    #[test]
    fn output_without_a_passed_test_is_no_run() {
        let none = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 1 ignored\n";
        assert!(!some_ran("") && !some_ran(none));
        assert!(some_ran(&format!("{none}test result: ok. 1 passed; 0 failed; 0 ignored\n")));
    }
}
