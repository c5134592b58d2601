//! Valgrind over the deleter tests: what Miri cannot see through C.

use std::process::Command;

use crate::checkout::Outcome;
use crate::context::Context;
use crate::contribute::rust_tests::SELECTION;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo};
use crate::system;

/// The integration test of package `dlpack-tests` whose subject is deleters.
const TEST: &str = "deleter";

/// Runs the deleter tests; an invalid access or a definite leak is a failure.
pub(crate) fn deleters(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = install(stage) {
        return missing("valgrind", reason);
    }
    let mut build = cargo(&context.checkout);
    build.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    build.args(SELECTION).args(["--test", TEST]);
    stage.run(&mut build)?;
    let log = stage.logged();
    let binary = log.lines().find_map(executable).ok_or_else(|| {
        format!("cargo built no test binary `{TEST}`; see {}.", stage.log_path().display())
    })?;
    let mut command = Command::new("valgrind");
    command
        .args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"])
        .arg(binary)
        // One thread: valgrind runs one at a time anyhow.
        .arg("--test-threads=1")
        .current_dir(context.checkout.root());
    Ok(stage.run(&mut command)?)
}

/// Installs valgrind where it is missing and the system lets us.
pub(crate) fn install(stage: &mut Stage) -> Outcome {
    let present = || answer_of("valgrind", &["--version"]).is_some();
    system::ensure("valgrind", &["valgrind"], present, stage)
}

/// The path in one of cargo's messages about the test binary.
fn executable(message: &str) -> Option<&str> {
    if !message.contains(&format!("\"name\":\"{TEST}\"")) {
        return None;
    }
    let (_, rest) = message.split_once("\"executable\":\"")?;
    rest.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_read_from_cargos_message() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"deleter"},"executable":"/t/deleter-1","fresh":true}"#;
        assert_eq!(executable(message), Some("/t/deleter-1"));
        assert_eq!(executable(&message.replace("\"deleter\"", "\"layout\"")), None);
        assert_eq!(executable(r#"{"name":"deleter","executable":null}"#), None);
    }
}
