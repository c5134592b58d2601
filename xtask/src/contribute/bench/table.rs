//! `cargo xtask bench table`: exchange tables as C uses them, ours and PyTorch's.

use std::path::PathBuf;
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::contribute::develop::{Build, EXAMPLE};
use crate::run::{self, Stage};
use crate::venv::{self, Packages};

/// Run by the environment's Python: the prefix that an embedded interpreter starts
/// from, where it finds packages, and where the dynamic linker finds it.
const FACTS: &str = r#"
import sys, sysconfig
print(sys.base_prefix)
print(sysconfig.get_path("purelib"))
print(sysconfig.get_config_var("LIBDIR") or "")
"#;

/// Builds the program, runs it, and writes `target/bench/table.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "exchange tables, called from C", "bench-table")?;
    let environment = venv::ensure(checkout, Packages::Torch, &mut stage)?;
    let told = environment.python(checkout).args(["-c", FACTS]).output().ok();
    let told = told.filter(|told| told.status.success());
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    let told = told.ok_or("the environment's Python does not say where its library is.")?;
    let facts: Vec<&str> = told.lines().collect();
    let [prefix, packages, library] = facts[..] else {
        return Err("the environment's Python does not say where its library is.".to_owned());
    };
    let target = checkout.target().join("bench");
    let mut build = run::cargo(checkout);
    build
        .args(["build", "--release", "--features", "table", "--bin", "dlpack-bench-table"])
        .arg("--manifest-path")
        .arg(checkout.root().join("bench/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", super::ALIGNED)
        .env("PYO3_PYTHON", environment.executable());
    stage.run(&mut build)?;
    Build::of(checkout).run(checkout, &environment.interpreter, &[EXAMPLE], &mut stage)?;
    stage.done("built");
    let path = std::env::join_paths([PathBuf::from(packages), checkout.modules()])
        .map_err(|error| format!("the modules cannot be found by Python ({error})."))?;
    let json: PathBuf = target.join("table.json");
    println!();
    let status = Command::new(target.join("release/dlpack-bench-table"))
        .env("BENCH_JSON", &json)
        .env("PYTHONHOME", prefix)
        .env("PYTHONPATH", path)
        .env("LD_LIBRARY_PATH", library)
        .status()
        .map_err(|error| format!("the benchmark does not start ({error})."))?;
    if !status.success() {
        return Err(format!("the benchmark failed ({status})."));
    }
    println!("the same figures: {}", json.display());
    Ok(())
}
