//! `cargo xtask mutants --score`: the share of small mistakes in the core that some test
//! notices. `quality/mutants/score` counts it; this lists the mutants and builds that program.

use std::process::Command;

use crate::checkout::{copy_sources, root, target, write};
use crate::command::{Words as _, cargo};
use crate::context::Context;
use crate::outcome::{Ending, need};
use crate::tools;

/// Lists the mutants of the core: what has tests in Rust that need no device, no Python and no
/// runtime. Bounds of threads, locks and vendors have tests of other kinds.
const LIST: &str = "mutants --list --json --package=dlpack-traits \
    --exclude dlpack-traits/src/backend/** --exclude dlpack-traits/src/python/**";

/// Counts all mutants, or those in files whose paths contain `only`.
pub(crate) fn run(context: &Context, only: Option<&str>) -> Ending {
    let tool = "cargo-mutants";
    need(cfg!(target_os = "linux"), tool, "the score is counted on Linux")?;
    tools::nightly(tool)?;
    let programs = tools::cargo_tool(context, tool)?;
    let place = target("score");
    let (sources, list) = (place.join("src"), place.join("mutants.json"));
    copy_sources(root(), &sources)?;
    let mut mutants = cargo(LIST);
    let listed = mutants.finds_programs_in(&programs).current_dir(&sources).output();
    let listed = listed.ok().filter(|output| output.status.success());
    write(&list, listed.ok_or("`cargo mutants --list` failed.")?.stdout)?;
    context.run(&mut cargo(
        "build --locked --release --manifest-path=quality/mutants/score/Cargo.toml \
         --target-dir=target/score/runner",
    ))?;
    let jobs = std::thread::available_parallelism().map_or(1, |count| count.get().div_ceil(2));
    let mut run = Command::new(place.join("runner/release/dlpack-mutation"));
    run.current_dir(root()).arg(&sources).arg(&list).arg(place.join("target"));
    run.arg(root().join("quality/mutants/score/survivors.txt")).arg(jobs.to_string()).args(only);
    let ended = context.run(&mut run);
    let log = context.logged();
    let is_result = |line: &&str| line.contains(" mutants ran:") || line.starts_with("score:");
    log.lines().filter(is_result).for_each(|line| context.note(line));
    ended.map_err(|error| {
        format!("the score is below its goal, or survivors.txt lacks a reason: {error}").into()
    })
}
