//! `cargo xtask fuzz`: runs the targets on random inputs for a given time.
//!
//! The crate `quality/fuzz` is a workspace of its own. What cargo-fuzz finds on the way
//! stays in `target/fuzz-corpus`; what is kept is in `quality/fuzz/seeds`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::quality::nightly::{NO_ASM, TOOLCHAIN};
use crate::report::{Stop, missing};
use crate::run::{Stage, answer_of, cargo_of};
use crate::tools;

/// The targets, by the names of their files in `quality/fuzz/fuzz_targets`.
pub(crate) const TARGETS: [&str; 6] =
    ["raw_import", "layout", "peer_table", "exchange_table", "allocator", "derive"];
/// The platform on which the command is known to work.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// The longest input, in bytes.
const MAX_LEN: u32 = 1024;
/// Targets that are built without AddressSanitizer: they contain no `unsafe`, and run a
/// hundred times as fast without it. Tracing of comparisons does not help them either.
const SAFE: [&str; 1] = ["derive"];

/// Which targets, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// One, or all.
    pub(crate) target: Option<String>,
    /// For each.
    pub(crate) seconds: u32,
}

/// Runs the targets one after the other, each in its own time.
pub(crate) fn fuzz(checkout: &Checkout, choice: &Choice) -> Outcome {
    let mut stage = Stage::begin(checkout, "fuzz targets", "fuzz")?;
    let program = match cargo_fuzz(checkout, &mut stage) {
        Ok(program) => program,
        Err(reason) => {
            return match missing("cargo-fuzz", reason) {
                Err(Stop::Failed(sentence)) => Err(sentence),
                // The output states that the target was skipped.
                Err(Stop::Skipped(reason)) => {
                    stage.note(&format!("SKIPPED: {reason}"));
                    Ok(())
                }
                Ok(()) => Ok(()),
            };
        }
    };
    let targets =
        TARGETS.iter().filter(|target| choice.target.as_deref().is_none_or(|t| t == **target));
    for target in targets {
        stage.note(&format!("building {target}"));
        let mut build = command(checkout, &program, "build", target);
        stage.run(build.arg(target))?;
        stage.note(&format!("running {target} for {} s", choice.seconds));
        run(checkout, &program, target, choice.seconds, &mut stage).map_err(|sentence| {
            stage.print_tail();
            format!("{target}: {sentence} The input is in quality/fuzz/artifacts/{target}.")
        })?;
        let log = stage.logged();
        let executions = last(&log, "stat::number_of_executed_units:");
        stage.note(&format!("{target}: {executions} executions without a finding"));
    }
    stage.done("passed");
    Ok(())
}

/// Runs one target. The seed corpus is not modified.
fn run(
    checkout: &Checkout,
    program: &Path,
    target: &str,
    seconds: u32,
    stage: &mut Stage,
) -> Outcome {
    let corpus = checkout.target().join("fuzz-corpus").join(target);
    let unwritable = |error| format!("{} cannot be written ({error}).", corpus.display());
    std::fs::create_dir_all(&corpus).map_err(unwritable)?;
    let mut command = command(checkout, program, "run", target);
    command
        .arg(target)
        .arg(&corpus)
        .arg(checkout.root().join("quality/fuzz/seeds").join(target))
        .arg("--");
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={MAX_LEN}"));
    command.arg("-print_final_stats=1");
    stage.run(&mut command)
}

/// `cargo fuzz` with what build and run have in common.
fn command(checkout: &Checkout, program: &Path, verb: &str, target: &str) -> Command {
    let mut command = tools::with_first(program, cargo_of(checkout, TOOLCHAIN));
    command.args(["fuzz", verb, "--fuzz-dir=quality/fuzz"]).arg("--target-dir");
    if SAFE.contains(&target) {
        command.arg(checkout.target().join("fuzz-safe"));
        command.args(["--sanitizer=none", "--no-trace-compares"]);
    } else {
        command.arg(checkout.target().join("fuzz"));
        // cargo-fuzz adds its own flags to these.
        command.env("RUSTFLAGS", NO_ASM);
    }
    // With this cfg `proc-macro2` reports no span locations.
    command.arg("--no-cfg-fuzzing");
    command
}

/// The path of cargo-fuzz, which is installed below `target/` if it is missing.
fn cargo_fuzz(checkout: &Checkout, stage: &mut Stage) -> Outcome<PathBuf> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Err(format!("the fuzz targets are for {PLATFORM}"));
    }
    if answer_of("rustup", &["run", TOOLCHAIN, "rustc", "--version"]).is_none() {
        return Err("there is no nightly compiler (rustup toolchain install nightly)".to_owned());
    }
    tools::ensure(checkout, "cargo-fuzz", stage)
}

/// The rest of the last line that begins with this text.
fn last<'a>(log: &'a str, beginning: &str) -> &'a str {
    let mut found = log.lines().rev().filter_map(|line| line.strip_prefix(beginning));
    found.next().map_or("?", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_last_one() {
        let log = "x: 1\nstat::n: 5\nstat::n:   77\nend";
        assert_eq!(last(log, "stat::n:"), "77");
        assert_eq!(last(log, "stat::m:"), "?");
    }

    /// Each target is in the manifest, and has a file and seeds.
    #[test]
    fn targets_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../quality/fuzz");
        let manifest =
            std::fs::read_to_string(root.join("Cargo.toml")).expect("quality/fuzz/Cargo.toml");
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(root.join(format!("fuzz_targets/{target}.rs")).exists(), "{target}");
            let seeds = std::fs::read_dir(root.join("seeds").join(target));
            assert!(seeds.is_ok_and(|mut seeds| seeds.next().is_some()), "seeds of {target}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
