//! `cargo xtask api`: the public interface is what was reviewed.
//!
//! `quality/public-api/dlpack-traits.txt` has a line for each public item, so that a
//! change of the interface is seen where changes are read. rustdoc's JSON, from which
//! the lines are made, is for nightly compilers only.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::checkout::{Checkout, Outcome, read};
use crate::context::Context;
use crate::quality::nightly::TOOLCHAIN;
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, answer_of, cargo, cargo_of};
use crate::venv::{self, Environment, Packages};

const SNAPSHOT: &str = "quality/public-api/dlpack-traits.txt";
/// How many differences are shown.
const SHOWN: usize = 40;

/// The command: compares, or writes anew.
pub(crate) fn api(checkout: &Checkout, bless: bool) -> Outcome {
    let mut stage = Stage::begin(checkout, "public interface", "api")?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    match list(checkout, &environment, &mut stage) {
        Ok(found) if bless => {
            std::fs::write(checkout.root().join(SNAPSHOT), found)
                .map_err(|error| format!("{SNAPSHOT} cannot be written ({error})."))?;
            stage.done(&format!("{SNAPSHOT} is written; read what changed in it"));
            Ok(())
        }
        Ok(found) => {
            compare(checkout.root(), &found, &stage)?;
            stage.done("as it was reviewed");
            Ok(())
        }
        Err(Stop::Skipped(reason)) => {
            stage.note(&format!("SKIPPED: {reason}"));
            Ok(())
        }
        Err(Stop::Failed(sentence)) => {
            stage.print_tail();
            Err(sentence)
        }
    }
}

/// The step of `cargo xtask test --full`.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    let found = list(&context.checkout, environment, stage)?;
    Ok(compare(context.checkout.root(), &found, stage)?)
}

/// A line for each public item.
fn list(checkout: &Checkout, environment: &Environment, stage: &mut Stage) -> Result<String, Stop> {
    if answer_of("rustup", &["run", TOOLCHAIN, "rustc", "--version"]).is_none() {
        missing(
            "public-api",
            "there is no nightly compiler (rustup toolchain install nightly)".to_owned(),
        )?;
    }
    let target = checkout.target().join("public-api");
    let mut rustdoc = cargo_of(checkout, TOOLCHAIN);
    rustdoc
        .env("PYO3_PYTHON", &environment.interpreter.executable)
        .args(["rustdoc", "--package=dlpack-traits", "--lib", "--all-features", "--target-dir"])
        .arg(&target)
        .args(["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"]);
    stage.run(&mut rustdoc)?;
    let mut build = cargo(checkout);
    build.args(["build", "--locked", "--manifest-path=quality/public-api/Cargo.toml"]);
    stage.run(build.arg("--target-dir").arg(&target))?;
    let lister = target.join("debug/dlpack-public-api");
    let output = Command::new(&lister).arg(target.join("doc/dlpack_traits.json")).output();
    let output =
        output.map_err(|error| format!("{} does not start ({error}).", lister.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    // The JSON has versions, and a nightly compiler may be older or newer than those.
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    missing("public-api", format!("the JSON of this nightly compiler is not read: {said}"))?;
    Ok(String::new())
}

/// Fails with what was added and what is gone.
fn compare(root: &Path, found: &str, stage: &Stage) -> Outcome {
    let reviewed = read(&root.join(SNAPSHOT))?;
    let differences = differences(&reviewed, found);
    for line in differences.iter().take(SHOWN) {
        stage.note(line);
    }
    match differences.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} lines of the public interface differ from {SNAPSHOT}; if that is meant, run \
             `cargo xtask api --bless`, read the difference, and say it in CHANGELOG.md."
        )),
    }
}

/// Lines of one text only, in their order.
fn differences(reviewed: &str, found: &str) -> Vec<String> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) =
        (reviewed.lines().collect(), found.lines().collect());
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let new = after.difference(&before).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new() {
        assert_eq!(differences("a\nb\n", "b\na\n"), Vec::<String>::new());
        assert_eq!(differences("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
    }
}
