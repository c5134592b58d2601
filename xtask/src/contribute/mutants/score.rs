//! `cargo xtask mutants --score`: what share of small mistakes in the core some test
//! notices. `quality/mutants/score` does the work; this is what it needs.

use std::process::Command;

use crate::checkout::{Checkout, Outcome, write};
use crate::copy_sources::copy_sources;
use crate::quality::nightly::TOOLCHAIN;
use crate::report::{Stop, missing};
use crate::run::{Stage, answer_of, cargo};
use crate::tools;

/// The core: what has tests in Rust that need no device, no Python and no runtime.
/// Bounds of threads, locks and vendors have tests of other kinds.
const NOT_CORE: [&str; 2] = ["dlpack-traits/src/backend/**", "dlpack-traits/src/python/**"];
/// Where reasons are written.
const SURVIVORS: &str = "quality/mutants/score/survivors.txt";

/// Counts them all, or those in files whose paths contain `only`.
pub(crate) fn score(checkout: &Checkout, only: Option<&str>) -> Outcome {
    let mut stage = Stage::begin(checkout, "mutation score", "score")?;
    match ready(checkout, &mut stage) {
        Ok(()) => {}
        Err(Stop::Failed(sentence)) => return Err(sentence),
        Err(Stop::Skipped(reason)) => {
            stage.note(&format!("SKIPPED: {reason}"));
            return Ok(());
        }
    }
    let place = checkout.target().join("score");
    let (sources, list) = (place.join("src"), place.join("mutants.json"));
    copy_sources(checkout.root(), &sources, &mut stage)?;
    let programs = tools::ensure(checkout, "cargo-mutants", &mut stage)?;
    let mut mutants = tools::with_first(&programs, cargo(checkout));
    mutants.args(["mutants", "--list", "--json", "--package=dlpack-traits"]);
    for files in NOT_CORE {
        mutants.args(["--exclude", files]);
    }
    let listed = mutants.current_dir(&sources).output();
    let listed = listed.ok().filter(|output| output.status.success());
    let listed = listed.ok_or("`cargo mutants --list` failed.")?;
    write(&list, listed.stdout)?;
    let mut build = cargo(checkout);
    build.args(["build", "--locked", "--release"]);
    build.arg("--manifest-path=quality/mutants/score/Cargo.toml").arg("--target-dir");
    stage.run(build.arg(place.join("runner")))?;
    let jobs = std::thread::available_parallelism().map_or(1, |count| count.get().div_ceil(2));
    let mut run = Command::new(place.join("runner/release/dlpack-mutation"));
    run.arg(&sources).arg(&list).arg(place.join("target")).arg(checkout.root().join(SURVIVORS));
    run.arg(jobs.to_string()).args(only).current_dir(checkout.root());
    let ended = stage.run(&mut run);
    let log = stage.logged();
    for line in
        log.lines().filter(|line| line.contains(" mutants ran:") || line.starts_with("score:"))
    {
        stage.note(line);
    }
    ended.map_err(|_| {
        stage.print_tail();
        format!(
            "the score is below its goal, or {SURVIVORS} does not say why a mutant survives; all \
             that was said is in {}.",
            stage.log_path().display()
        )
    })
}

/// Whether this machine can.
fn ready(checkout: &Checkout, stage: &mut Stage) -> Result<(), Stop> {
    if !cfg!(target_os = "linux") {
        return missing("cargo-mutants", "the score is counted on Linux".to_owned());
    }
    if answer_of("rustup", &["run", TOOLCHAIN, "rustc", "--version"]).is_none() {
        let reason = "there is no nightly compiler (rustup toolchain install nightly)";
        return missing("cargo-mutants", reason.to_owned());
    }
    match tools::ensure(checkout, "cargo-mutants", stage) {
        Ok(_) => Ok(()),
        Err(reason) => missing("cargo-mutants", reason),
    }
}
