//! Tools that steps install where they are missing.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::checkout::target;
use crate::command::{NIGHTLY, answer_of, cargo};
use crate::outcome::{Ending, Outcome, missing, need};
use crate::stage::Stage;

/// Runs what only one step may do at a time, such as an installation: two steps may run at the
/// same time.
pub(crate) fn exclusively<T>(body: impl FnOnce() -> T) -> T {
    static RUNNING: Mutex<()> = Mutex::new(());
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    body()
}

/// Installs packages of Debian or Ubuntu, named with spaces between them, unless `is_there` reports
/// that `what` is installed.
///
/// Only `test --full` as root installs packages; other commands leave the system unchanged.
pub(crate) fn install(
    stage: &Stage,
    what: &str,
    packages: &str,
    is_there: impl Fn() -> bool,
) -> Outcome {
    exclusively(|| {
        if is_there() {
            return Ok(());
        }
        let by_hand =
            format!("{what} is not installed (Debian and Ubuntu: apt-get install {packages})");
        if answer_of("id", &["-u"]).is_none_or(|user| user.trim() != "0") {
            return Err(by_hand);
        }
        let apt = |line: &str| {
            let mut command = Command::new("apt-get");
            command.env("DEBIAN_FRONTEND", "noninteractive").args(line.split(' '));
            stage.run(&mut command)
        };
        stage.note(format!("installing {packages}"));
        let install = format!("--quiet install --yes --no-install-recommends {packages}");
        let installed = apt("--quiet update").and_then(|()| apt(&install));
        if installed.is_ok() && is_there() { Ok(()) } else { Err(by_hand) }
    })
}

/// Installs valgrind.
pub(crate) fn valgrind(stage: &Stage) -> Ending {
    install(stage, "valgrind", "valgrind", || answer_of("valgrind", &["--version"]).is_some())
        .or_else(|reason| missing("valgrind", reason))
}

/// The folder of a program of cargo's, which is installed below `target/` if it is not found.
pub(crate) fn cargo_tool(stage: &Stage, tool: &str) -> Ending<PathBuf> {
    let root = target("tools");
    let folder = root.join("bin");
    let own = folder.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX));
    if own.exists() || answer_of(tool, &["--version"]).is_some() {
        return Ok(folder);
    }
    stage.note(format!("installing {tool} into {}", root.display()));
    let mut install = cargo(&format!("install --locked {tool} --root"));
    match stage.run(install.arg(&root)) {
        Ok(()) if own.exists() => Ok(folder),
        _ => missing(tool, format!("{tool} cannot be installed (cargo install {tool})")),
    }
}

/// Requires the nightly compiler for a tool.
pub(crate) fn nightly(tool: &str) -> Ending {
    let version = answer_of("rustup", &["run", NIGHTLY, "rustc", "--version"]);
    let advice = "there is no nightly compiler (rustup toolchain install nightly)";
    need(version.is_some(), tool, advice)
}

/// Installs Miri and the sources of the standard library, for a tool that needs either.
pub(crate) fn miri(stage: &Stage, tool: &str) -> Ending {
    let is_there =
        || answer_of("rustup", &["run", NIGHTLY, "cargo", "miri", "--version"]).is_some();
    exclusively(|| {
        if is_there() {
            return Ok(());
        }
        let Some(toolchains) = answer_of("rustup", &["toolchain", "list"]) else {
            return missing(tool, "rustup, which installs Miri, is missing");
        };
        let has_nightly = toolchains.lines().any(|name| name.starts_with(NIGHTLY));
        let line = if has_nightly {
            "component add miri rust-src --toolchain nightly"
        } else {
            "toolchain install nightly --profile minimal --component miri --component rust-src"
        };
        let installed = stage.run(Command::new("rustup").args(line.split(' ')));
        need(installed.is_ok() && is_there(), tool, &format!("`rustup {line}` fails"))
    })
}

/// `cargo` for a target: of this toolchain where the target is installed, and otherwise of nightly
/// with these parts of the standard library, which are built from their sources.
pub(crate) fn cargo_for(
    stage: &Stage,
    triple: &str,
    tool: &str,
    parts: &str,
    line: &str,
) -> Ending<Command> {
    let installed = answer_of("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    if installed.lines().any(|it| it == triple) {
        return Ok(cargo(&format!("{line} --target {triple}")));
    }
    stage.note(format!("{triple} is not installed (rustup target add {triple})"));
    miri(stage, tool)?;
    let line = format!("-Zbuild-std={parts} {line} --target {triple}");
    Ok(crate::command::cargo_of(NIGHTLY, &line))
}
