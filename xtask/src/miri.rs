//! Miri over all Rust tests, under both models of aliasing.

use std::process::Command;

use crate::Outcome;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo_of};
use crate::rust_tests::SELECTION;
use crate::test::Context;

pub(crate) const TOOLCHAIN: &str = "nightly";

/// Pointers keep where they came from, and what the host knows stays unknown:
/// a property test that asks for it gets an error, and every run is the same.
pub(crate) const STRICT: &str = "-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check \
                      -Zmiri-isolation-error=warn-nobacktrace";
/// Tests whose course depends on the order of threads and on addresses; each
/// seed gives others.
const SEEDED_TESTS: &[&str] = &["--test=deleter", "--test=devices", "--test=threads"];
const SEEDS: std::ops::RangeInclusive<u32> = 1..=4;
/// For `cargo xtask sanitize`.
const MANY_SEEDS: u32 = 64;

/// All tests but doc tests, of which each is an interpreter of its own.
const ALL_TESTS: &[&str] = &["--lib", "--tests"];

/// The older model, on all tests.
pub(crate) fn stacked_borrows(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    Ok(stage.run(&mut miri(context, STRICT, ALL_TESTS))?)
}

/// The newer model, on all tests, and on some with several seeds.
pub(crate) fn tree_borrows(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    let flags = format!("{STRICT} -Zmiri-tree-borrows");
    stage.run(&mut miri(context, &flags, ALL_TESTS))?;
    for seed in SEEDS {
        let flags = format!("{flags} -Zmiri-seed={seed}");
        let outcome = stage.run(&mut miri(context, &flags, SEEDED_TESTS));
        outcome.map_err(|sentence| format!("seed {seed}: {sentence}"))?;
    }
    Ok(())
}

/// Both models, on the tests whose course depends on the order of threads, with
/// many more seeds than anybody waits for.
pub(crate) fn many_seeds(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("miri", reason);
    }
    for model in ["", "-Zmiri-tree-borrows"] {
        let flags = format!("{STRICT} {model} -Zmiri-many-seeds=0..{MANY_SEEDS}");
        stage.run(&mut miri(context, &flags, SEEDED_TESTS))?;
    }
    Ok(())
}

fn miri(context: &Context, flags: &str, tests: &[&str]) -> Command {
    let mut command = cargo_of(&context.checkout, TOOLCHAIN);
    command.env("MIRIFLAGS", flags).args(["miri", "test", "--no-fail-fast"]);
    command.args(SELECTION).args(tests);
    command
}

/// Installs the component where it is missing.
pub(crate) fn install(stage: &mut Stage) -> Outcome {
    let present =
        || answer_of("rustup", &["run", TOOLCHAIN, "cargo", "miri", "--version"]).is_some();
    if present() {
        return Ok(());
    }
    let toolchains = answer_of("rustup", &["toolchain", "list"])
        .ok_or_else(|| "rustup, which installs Miri, is missing".to_owned())?;
    let mut command = Command::new("rustup");
    if toolchains.lines().any(|name| name.starts_with(TOOLCHAIN)) {
        command.args(["component", "add", "miri", "rust-src", "--toolchain", TOOLCHAIN]);
    } else {
        command.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal"]);
        command.args(["--component", "miri", "--component", "rust-src"]);
    }
    if stage.run(&mut command).is_ok() && present() {
        return Ok(());
    }
    Err("the component cannot be installed (rustup component add miri rust-src --toolchain nightly)"
        .to_owned())
}
