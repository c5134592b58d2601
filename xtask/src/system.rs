//! Packages of the system, which the whole suite installs where it may.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::checkout::Outcome;
use crate::run::{Stage, answer_of};

/// Runs what only one step may do at a time, such as an installation: two steps may run at the
/// same time.
pub(crate) fn exclusively<T>(body: impl FnOnce() -> T) -> T {
    static RUNNING: Mutex<()> = Mutex::new(());
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    body()
}

/// Installs packages of Debian or Ubuntu unless `present` reports that they are installed.
/// `what` names them in the error, which states how to install them by hand.
///
/// Only `test --full` as root installs packages; other commands leave the system unchanged.
pub(crate) fn ensure(
    what: &str,
    packages: &[&str],
    present: impl Fn() -> bool,
    stage: &mut Stage,
) -> Outcome {
    exclusively(|| install(what, packages, present, stage))
}

/// [`ensure`], while no other step installs anything.
fn install(
    what: &str,
    packages: &[&str],
    present: impl Fn() -> bool,
    stage: &mut Stage,
) -> Outcome {
    if present() {
        return Ok(());
    }
    if !cfg!(target_os = "linux") {
        return Err(format!("{what} is installed by hand on this system"));
    }
    let by_hand = format!(
        "{what} is not installed (Debian and Ubuntu: apt-get install {})",
        packages.join(" ")
    );
    if answer_of("id", &["-u"]).is_none_or(|user| user.trim() != "0") {
        return Err(by_hand);
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet");
        command
    };
    stage.note(&format!("installing {}", packages.join(" ")));
    let installed = stage.run(apt().arg("update")).and_then(|()| {
        stage.run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
    });
    if installed.is_ok() && present() { Ok(()) } else { Err(by_hand) }
}
