//! `cargo xtask bench rust`: what an exchange costs, beside the other crates.
//!
//! The crate `bench/` is a workspace of its own. Three of its peers need what the
//! virtual environment has: an interpreter, NumPy and a C++ library.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::run::{self, Stage};
use crate::venv::{self, Environment, Packages};

/// Run by the environment's Python: where the dynamic linker finds what the
/// peers need, the prefix that an embedded interpreter starts from, and the folder of the
/// environment's packages.
const FACTS: &str = r#"
import os, sys, sysconfig
import tvm_ffi
print(os.path.join(os.path.dirname(tvm_ffi.__file__), "lib"))
print(sysconfig.get_config_var("LIBDIR") or "")
print(sys.base_prefix)
print(sysconfig.get_path("platlib"))
"#;

/// Builds the crate, runs it, and writes `target/bench/rust.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "what an exchange costs", "bench-rust")?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    let facts = facts(checkout, &environment)?;
    let target = checkout.target().join("bench");
    let manifest = checkout.root().join("bench/Cargo.toml");
    stage.note("building the benchmark and the other crates");
    let mut build = run::cargo(checkout);
    build
        .args([
            "build",
            "--release",
            "--features",
            "tvm-ffi,pyo3-dlpack,rust-numpy",
            "--manifest-path",
        ])
        .arg(&manifest)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", super::ALIGNED)
        .env("PYO3_PYTHON", environment.executable())
        .env("PATH", run::path_with(&environment.programs())?);
    stage.run(&mut build)?;
    stage.done("built");

    let json = target.join("rust.json");
    let mut program = Command::new(target.join("release/dlpack-bench"));
    program
        .env("BENCH_JSON", &json)
        .env("PYTHONHOME", &facts.prefix)
        .env("PYTHONPATH", &facts.packages)
        .env("LD_LIBRARY_PATH", join(&facts.libraries)?);
    println!();
    let status =
        program.status().map_err(|error| format!("the benchmark does not start ({error})."))?;
    if status.success() {
        println!("the same figures: {}", json.display());
        Ok(())
    } else {
        Err(format!("the benchmark failed ({status})."))
    }
}

struct Facts {
    libraries: Vec<PathBuf>,
    prefix: String,
    packages: String,
}

fn facts(checkout: &Checkout, environment: &Environment) -> Outcome<Facts> {
    let unknown = || "the environment's Python does not say where its libraries are.".to_owned();
    let output = environment
        .python(checkout)
        .args(["-c", FACTS])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .ok_or_else(unknown)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let (Some(tvm), Some(python), Some(prefix), Some(packages)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return Err(unknown());
    };
    let (prefix, packages) = (prefix.to_owned(), packages.to_owned());
    Ok(Facts { libraries: vec![tvm.into(), python.into()], prefix, packages })
}

fn join(folders: &[PathBuf]) -> Outcome<OsString> {
    std::env::join_paths(folders).map_err(|error| format!("a folder cannot be named ({error})."))
}
