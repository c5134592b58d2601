//! `cargo xtask bench functions`: `examples/functions` beside the same module with
//! rust-numpy and with nanobind, in `docs/generated/functions.md`.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;

use crate::checkout::{Checkout, Outcome};
use crate::run::{self, EXTENSION_MODULE, Stage};
use crate::venv::{self, Packages};

/// The folder of each crate, and the name of its module.
const CRATES: [(&str, &str); 2] = [
    ("examples/functions", "array_functions"),
    ("examples/functions/twins/rust-numpy", "array_functions_rust_numpy"),
];
const TWINS: &str = "examples/functions/twins";

/// Builds the modules, runs them, and writes the page.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "functions and their twins", "bench-functions")?;
    // nanobind is among these packages.
    let environment = venv::ensure(checkout, Packages::MOST, &mut stage)?;
    let target = checkout.target().join("functions");
    let modules = target.join("modules");
    fs::create_dir_all(&modules)
        .map_err(|error| format!("{} cannot be made ({error}).", modules.display()))?;
    for (folder, name) in CRATES {
        let mut command = run::cargo(checkout);
        command
            .args(["build", "--release", "--lib", "--manifest-path"])
            .arg(checkout.root().join(folder).join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", &target)
            .env("PYO3_PYTHON", environment.executable())
            .envs([EXTENSION_MODULE]);
        stage.run(&mut command)?;
        let built = target.join("release").join(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"));
        let installed = modules.join(format!("{name}.so"));
        fs::copy(&built, &installed)
            .map_err(|error| format!("{} cannot be copied ({error}).", built.display()))?;
    }
    for (program, name) in [("nanobind/build.py", "nanobind"), ("compare.py", "rows")] {
        let mut command = environment.python(checkout);
        command.arg(checkout.root().join(TWINS).join(program)).arg(&modules);
        stage.run(&mut command).map_err(|error| format!("{name}: {error}"))?;
    }
    stage.done("docs/generated/functions.md is written");
    Ok(())
}
