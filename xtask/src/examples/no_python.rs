//! The example without Python: two Rust libraries and two C++ programs, one of them with
//! Eigen, as they are and under AddressSanitizer.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{root, target};
use crate::command::{IS_PLATFORM, NO_ASM, PLATFORM, Words as _, answer_of, cargo};
use crate::context::Context;
use crate::outcome::{Ending, Outcome, missing, need};
use crate::tools;

/// The folder of Eigen's headers, from the package of Debian and Ubuntu.
const EIGEN: &str = "/usr/include/eigen3";

/// Builds and runs both programs; that with Eigen, if Eigen is installed.
pub(crate) fn example(context: &Context) -> Ending {
    context.show(&mut Command::new(build(context, "main", false)?))?;
    if !Path::new(EIGEN).exists() {
        context.note("without Eigen (Debian and Ubuntu: apt-get install libeigen3-dev)");
        return Ok(());
    }
    Ok(context.show(&mut Command::new(build(context, "eigen", false)?))?)
}

/// The example under AddressSanitizer, in which a leak is a failure.
pub(crate) fn sanitized(context: &Context) -> Ending {
    run_sanitized(context, "main")
}

/// The same for the program with Eigen.
pub(crate) fn eigen(context: &Context) -> Ending {
    let is_there = || Path::new(EIGEN).exists();
    if let Err(reason) = tools::install(context, "Eigen", "libeigen3-dev", is_there) {
        return missing("eigen", reason);
    }
    run_sanitized(context, "eigen")
}

fn run_sanitized(context: &Context, name: &str) -> Ending {
    need(IS_PLATFORM, "asan", &format!("the sanitized example is for {PLATFORM}"))?;
    let compiler = answer_of("g++", &["--version"]);
    need(compiler.is_some(), "asan", "there is no C++ compiler: install g++")?;
    let mut command = Command::new(build(context, name, true)?);
    Ok(context.run(command.env("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1"))?)
}

/// Builds both libraries and a program, and returns the path of the program.
fn build(context: &Context, name: &str, sanitized: bool) -> Outcome<PathBuf> {
    let mut libraries = cargo("build --package=no-python-producer --package=no-python-consumer");
    libraries.builds_in("no-python");
    let mut compile = Command::new("g++");
    compile.words("-std=c++17 -Wall -Wextra -Werror -O1 -g -pthread");
    let mut outputs = target("no-python/debug");
    if sanitized {
        // The sanitizer is not stable; the compiler that is has it all the same.
        // Build scripts are not sanitized, because a target is named.
        libraries
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", format!("-Zsanitizer=address {NO_ASM}"))
            .args(["--target", PLATFORM]);
        outputs = target("no-python").join(PLATFORM).join("debug");
        compile.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    context.run(&mut libraries)?;
    let program = outputs.join(name);
    // Warnings are denied in the example, not in the headers of Eigen.
    compile.args(["-isystem", EIGEN]);
    compile.arg(root().join(format!("examples/no-python/{name}.cpp"))).arg("-o").arg(&program);
    for library in ["no_python_producer", "no_python_consumer"] {
        compile.arg(outputs.join(format!("{DLL_PREFIX}{library}{DLL_SUFFIX}")));
    }
    context.run(compile.arg(format!("-Wl,-rpath,{}", outputs.display())))?;
    Ok(program)
}
