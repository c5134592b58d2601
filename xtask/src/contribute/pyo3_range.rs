//! The range of PyO3. The newest is in `Cargo.lock`, and so in every other
//! step; the oldest is built and tested here, and what lies between is checked.

use std::path::Path;

use crate::checkout::Outcome;
use crate::context::Context;
use crate::contribute::develop::{Build, EXAMPLE, Profile, TESTING, check_import};
use crate::contribute::python_tests::{self, pytest};
use crate::copy_sources::copy_sources;
use crate::report::Ending;
use crate::run::{Stage, cargo};

/// Both ends of the range in the root `Cargo.toml`.
const OLDEST: &str = "0.27.2";
const NEWEST_SERIES: &str = "0.30.";

/// The series between them, each as its last release.
const BETWEEN: [&str; 2] = ["0.28.3", "0.29.3"];

/// Checks the modules with every series between the ends, in a copy of the
/// sources: what one series has under one name, the next may have under two.
pub(crate) fn series_between(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    let checkout = &context.checkout;
    let place = checkout.target().join("pyo3-range").join("between");
    let sources = place.join("src");
    copy_sources(checkout.root(), &sources, stage)?;
    for version in BETWEEN {
        let mut update = cargo(checkout);
        update.current_dir(&sources).args(["update", "--package", "pyo3", "--precise", version]);
        stage.run(&mut update)?;
        let mut check = cargo(checkout);
        check
            .current_dir(&sources)
            .args(["check", "--package", EXAMPLE.package, "--package", TESTING.package])
            .env("CARGO_TARGET_DIR", place.join("target"))
            .env("PYO3_PYTHON", &environment.interpreter.executable);
        stage.run(&mut check)?;
        stage.note(&format!("PyO3 {version} compiles"));
    }
    Ok(())
}

/// Builds the modules with the oldest PyO3 in a copy of the sources, and runs
/// the Python tests against them.
pub(crate) fn oldest_pyo3(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    let checkout = &context.checkout;
    let newest = locked_pyo3(checkout.root())?;
    if !newest.starts_with(NEWEST_SERIES) {
        return Err(format!(
            "Cargo.lock holds PyO3 {newest} and not {NEWEST_SERIES}x, the newest of the range; run \
             `cargo update --package pyo3`."
        )
        .into());
    }

    let place = checkout.target().join("pyo3-range").join(OLDEST);
    let build = Build {
        sources: place.join("src"),
        // Not that of the checkout: cargo would take the crates of the copy for those of the checkout.
        target: place.join("target"),
        modules: place.join("python"),
        profile: Profile::Dev,
    };
    copy_sources(checkout.root(), &build.sources, stage)?;
    let mut update = cargo(checkout);
    update.current_dir(&build.sources).args(["update", "--package", "pyo3", "--precise", OLDEST]);
    stage.run(&mut update)?;
    let oldest = locked_pyo3(&build.sources)?;
    if oldest != OLDEST {
        return Err(format!("the copy holds PyO3 {oldest} where {OLDEST} was asked for.").into());
    }
    build.run(checkout, &environment.interpreter, &[EXAMPLE, TESTING], stage)?;
    for module in [EXAMPLE, TESTING] {
        let mut python = environment.python(checkout);
        python.env("PYTHONPATH", &build.modules);
        check_import(&mut python, module, &build.modules, stage)?;
    }
    stage.note(&format!("PyO3 {oldest} here, {newest} in the other steps"));
    let mut tests = pytest(checkout, environment);
    // The tool's own tests import nothing that was built here.
    tests
        .env("PYTHONPATH", &build.modules)
        .arg("--ignore=tests/python/conformance/test_conformance_tool.py");
    python_tests::run(&mut tests, stage)
}

/// The version of PyO3 that a lock file holds.
fn locked_pyo3(root: &Path) -> Outcome<String> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    version_of("pyo3", &lock)
        .map(str::to_owned)
        .ok_or_else(|| format!("{}/Cargo.lock names no PyO3; run `cargo update`.", root.display()))
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.next()?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_those_of_the_manifest() {
        let manifest = include_str!("../../../Cargo.toml");
        let after_newest = "<0.31";
        assert!(manifest.contains(&format!("\">=0.27, {after_newest}\"")));
        assert!(OLDEST.starts_with("0.27.") && NEWEST_SERIES == "0.30.");
    }

    #[test]
    fn the_locked_version_is_that_of_the_package_itself() {
        let lock = "[[package]]\nname = \"pyo3-ffi\"\nversion = \"9.9.9\"\n\n\
            [[package]]\nname = \"pyo3\"\nversion = \"0.30.1\"\n";
        assert_eq!(version_of("pyo3", lock), Some("0.30.1"));
        assert_eq!(version_of("numpy", lock), None);
    }
}
