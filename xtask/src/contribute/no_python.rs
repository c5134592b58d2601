//! The example without Python: two Rust libraries and a C++ program, as they are
//! and under AddressSanitizer.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::checkout::Checkout;
use crate::contribute::test::Context;
use crate::quality::sanitize::NO_ASM;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo};

/// Where the example is, from the root.
const FOLDER: &str = "examples/no-python";
/// The two libraries.
const LIBRARIES: [&str; 2] = ["no-python-producer", "no-python-consumer"];
/// The one platform on which the sanitized program has been run.
const SANITIZED: &str = "x86_64-unknown-linux-gnu";

/// Builds the example and runs it in this terminal.
pub(crate) fn example(checkout: &Checkout) -> Outcome {
    compiler()?;
    let mut stage = Stage::begin(checkout, "example without Python", "no-python")?;
    let program = build(checkout, &mut stage, false).inspect_err(|_| stage.print_tail())?;
    stage.done("built");
    println!();
    let status = Command::new(&program).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}; see above.", program.display())),
        Err(error) => Err(format!("{} does not start ({error}).", program.display())),
    }
}

/// The example under AddressSanitizer, in which a leak is a failure.
pub(crate) fn sanitized(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return missing("asan", format!("the sanitized example is for {SANITIZED}"));
    }
    if let Err(reason) = compiler() {
        return missing("asan", reason.trim_end_matches('.').to_owned());
    }
    let program = build(&context.checkout, stage, true)?;
    let mut command = Command::new(program);
    command.env("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1");
    Ok(stage.run(&mut command)?)
}

/// Whether the C++ compiler is there.
fn compiler() -> Outcome {
    answer_of("g++", &["--version"])
        .map(drop)
        .ok_or_else(|| "there is no C++ compiler: install g++.".to_owned())
}

/// Builds both libraries and the program, and returns where the program is.
fn build(checkout: &Checkout, stage: &mut Stage, sanitized: bool) -> Outcome<PathBuf> {
    let target = checkout.target().join("no-python");
    let mut libraries = cargo(checkout);
    libraries.arg("build").args(LIBRARIES.map(|name| format!("--package={name}")));
    libraries.arg("--target-dir").arg(&target);
    let outputs = if sanitized {
        // The sanitizer is not stable; the compiler that is has it all the same.
        // Build scripts are not sanitized, because a target is named.
        libraries
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", format!("-Zsanitizer=address {NO_ASM}"))
            .args(["--target", SANITIZED]);
        target.join(SANITIZED).join("debug")
    } else {
        target.join("debug")
    };
    stage.run(&mut libraries)?;
    let folder = checkout.root().join(FOLDER);
    let program = outputs.join(if sanitized { "no-python-sanitized" } else { "no-python" });
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]);
    if sanitized {
        compile.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    compile.arg(folder.join("main.cpp")).arg("-o").arg(&program);
    compile.args(LIBRARIES.map(|name| library(&outputs, name)));
    compile.arg(format!("-Wl,-rpath,{}", outputs.display()));
    stage.run(&mut compile)?;
    Ok(program)
}

/// The file of a library.
fn library(outputs: &Path, package: &str) -> PathBuf {
    outputs.join(format!("{DLL_PREFIX}{}{DLL_SUFFIX}", package.replace('-', "_")))
}
