//! `cargo xtask bench python`: what exchanges cost that Python takes part in,
//! beside the libraries' own objects.
//!
//! The crate `bench/python` is a workspace of its own, built twice: for the Python
//! at hand, and for all of them (`abi3`).

use std::fs;
use std::path::Path;

use super::{rust, table};
use crate::checkout::{Checkout, Outcome};
use crate::contribute::develop::{Build, EXAMPLE, in_terminal};
use crate::run::{self, EXTENSION_MODULE, Stage};
use crate::venv::{self, Environment, Packages};

const NAME: &str = "dlpack_bench_python";

/// Builds the module, runs the rows, and writes `target/bench/python.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "what Python sees of it", "bench-python")?;
    let environment = venv::ensure(checkout, Packages::MOST, &mut stage)?;
    let folder = checkout.target().join("bench").join("python");
    for (features, place) in [("", folder.clone()), ("abi3", folder.join("abi3"))] {
        build(checkout, &environment, features, &place, &mut stage)?;
    }
    Build::of(checkout).run(checkout, &environment.interpreter, &[EXAMPLE], &mut stage)?;
    stage.done("built");
    println!();
    let json = checkout.target().join("bench").join("python.json");
    let mut rows = environment.python(checkout);
    rows.arg(checkout.root().join("bench/python/rows.py")).arg(&folder).arg(&json);
    in_terminal(&mut rows)?;
    println!("the same figures: {}", json.display());
    Ok(())
}

/// What builds cost: `size` or `compile`.
pub(super) fn builds(checkout: &Checkout, what: &str) -> Outcome {
    let mut stage = Stage::begin(checkout, what, &format!("bench-{what}"))?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    let mut script = environment.python(checkout);
    script.arg(checkout.root().join("bench/python/builds.py")).arg(what);
    in_terminal(script.arg(checkout.target().join("bench")))?;
    stage.done("measured");
    Ok(())
}

/// All of them, and the page about them.
pub(crate) fn all(checkout: &Checkout) -> Outcome {
    rust::bench(checkout)?;
    table::bench(checkout)?;
    bench(checkout)?;
    builds(checkout, "size")?;
    builds(checkout, "compile")?;
    page(checkout)
}

/// Writes `docs/generated/benchmarks.md` and its picture, from all that is in `target/bench`.
pub(crate) fn page(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "docs/generated/benchmarks.md", "bench-page")?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    let mut page = environment.python(checkout);
    page.arg(checkout.root().join("bench/python/page.py"));
    page.arg(checkout.target().join("bench"));
    stage.run(&mut page)?;
    stage.done("written");
    Ok(())
}

fn build(
    checkout: &Checkout,
    environment: &Environment,
    features: &str,
    place: &Path,
    stage: &mut Stage,
) -> Outcome {
    let target = place.join("target");
    let mut command = run::cargo(checkout);
    command
        .args(["build", "--release", "--features", features, "--manifest-path"])
        .arg(checkout.root().join("bench/python/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &target)
        .env("PYO3_PYTHON", environment.executable())
        .envs([EXTENSION_MODULE]);
    stage.run(&mut command)?;
    let built = target.join("release").join(format!(
        "{}{NAME}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    // Under the same name everywhere: it is loaded by its path.
    let installed = place.join(format!("{NAME}.so"));
    fs::copy(&built, &installed).map(drop).map_err(|error| {
        format!("{} cannot be copied to {} ({error}).", built.display(), installed.display())
    })
}
