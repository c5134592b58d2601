//! The example without Python: two Rust libraries and two C++ programs, one of them with
//! Eigen, as they are and under AddressSanitizer.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::quality::nightly::NO_ASM;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo};
use crate::system;

/// Where the example is, from the root.
const FOLDER: &str = "examples/no-python";
/// The two libraries.
const LIBRARIES: [&str; 2] = ["no-python-producer", "no-python-consumer"];
/// The one platform on which the sanitized program has been run.
const SANITIZED: &str = "x86_64-unknown-linux-gnu";

/// The folder of Eigen's headers, from the package of Debian and Ubuntu.
const EIGEN: &str = "/usr/include/eigen3";

/// A C++ program of the example.
#[derive(Clone, Copy)]
struct Program {
    source: &'static str,
    includes: Option<&'static str>,
}

const EXCHANGE: Program = Program { source: "main.cpp", includes: None };
const MATRICES: Program = Program { source: "eigen.cpp", includes: Some(EIGEN) };

/// Builds the example and runs it in this terminal; the program with Eigen, if Eigen is
/// installed.
pub(crate) fn example(checkout: &Checkout) -> Outcome {
    compiler()?;
    let mut stage = Stage::begin(checkout, "example without Python", "no-python")?;
    let mut programs = Vec::new();
    for program in [EXCHANGE, MATRICES] {
        if program.includes.is_none_or(|folder| Path::new(folder).exists()) {
            let built = build(checkout, &mut stage, program, false);
            programs.push(built.inspect_err(|_| stage.print_tail())?);
        } else {
            stage.note("without Eigen (Debian and Ubuntu: apt-get install libeigen3-dev)");
        }
    }
    stage.done("built");
    for program in programs {
        println!();
        match Command::new(&program).status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return Err(format!("{} ended with {status}; see above.", program.display()));
            }
            Err(error) => return Err(format!("{} does not start ({error}).", program.display())),
        }
    }
    Ok(())
}

/// The example under AddressSanitizer, in which a leak is a failure.
pub(crate) fn sanitized(context: &Context, stage: &mut Stage) -> Ending {
    run_sanitized(context, stage, EXCHANGE)
}

/// The same for the program with Eigen.
pub(crate) fn eigen(context: &Context, stage: &mut Stage) -> Ending {
    let present = || Path::new(EIGEN).exists();
    if let Err(reason) = system::ensure("Eigen", &["libeigen3-dev"], present, stage) {
        return missing("eigen", reason);
    }
    run_sanitized(context, stage, MATRICES)
}

fn run_sanitized(context: &Context, stage: &mut Stage, program: Program) -> Ending {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return missing("asan", format!("the sanitized example is for {SANITIZED}"));
    }
    if let Err(reason) = compiler() {
        return missing("asan", reason.trim_end_matches('.').to_owned());
    }
    let program = build(&context.checkout, stage, program, true)?;
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

/// Builds both libraries and a program, and returns the path of the program.
fn build(
    checkout: &Checkout,
    stage: &mut Stage,
    Program { source, includes }: Program,
    sanitized: bool,
) -> Outcome<PathBuf> {
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
    let program = outputs.join(source.replace(".cpp", if sanitized { "-sanitized" } else { "" }));
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]);
    if sanitized {
        compile.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    // Warnings are denied in the example, not in the headers of Eigen.
    compile.args(includes.into_iter().flat_map(|folder| ["-isystem", folder]));
    compile.arg(folder.join(source)).arg("-o").arg(&program);
    compile.args(LIBRARIES.map(|name| library(&outputs, name)));
    compile.arg(format!("-Wl,-rpath,{}", outputs.display()));
    stage.run(&mut compile)?;
    Ok(program)
}

/// The file of a library.
fn library(outputs: &Path, package: &str) -> PathBuf {
    outputs.join(format!("{DLL_PREFIX}{}{DLL_SUFFIX}", package.replace('-', "_")))
}
