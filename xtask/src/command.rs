//! Command lines of other programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::checkout::{root, target};
use crate::interpreter::Interpreter;

pub(crate) const NIGHTLY: &str = "nightly";
/// The one platform on which steps with a sanitizer have been run.
pub(crate) const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// Whether this is that platform.
pub(crate) const IS_PLATFORM: bool =
    cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
/// Sanitizers do not see what inline assembly accesses, so shared memory is copied by a loop
/// of Rust instead.
pub(crate) const NO_ASM: &str = "--cfg dlpack_no_asm";
/// The variable by which PyO3 builds an extension module, which is not linked with Python's library,
/// as maturin sets it.
pub(crate) const EXTENSION_MODULE: (&str, &str) = ("PYO3_BUILD_EXTENSION_MODULE", "1");
/// The packages and features that Rust tests are built with: `@tests` in a line. All steps that run
/// Rust tests name the same, so that each is built once. Backends load nothing before they are used,
/// and their examples are compiled.
const TESTS: &str = "--package=dlpack-traits --package=dlpack-tests --package=dlpack-hostile \
    --package=new-device --features=dlpack-traits/derive,dlpack-traits/half,dlpack-traits/std \
    --features=dlpack-traits/cuda,dlpack-traits/oneapi,dlpack-traits/opencl \
    --features=dlpack-traits/rocm,dlpack-traits/vulkan,dlpack-traits/webgpu";

/// Words of a command line, and where cargo builds.
pub(crate) trait Words {
    /// Adds the words of a line. Words in capitals with `=` before all others are variables, and
    /// `@tests` stands for the selection of the Rust tests.
    fn words(&mut self, line: &str) -> &mut Self;
    /// Sets cargo's folder below `target/`.
    fn builds_in(&mut self, folder: &str) -> &mut Self;
    /// Prepends a folder of programs to `PATH`.
    fn finds_programs_in(&mut self, folder: &Path) -> &mut Self;
}

impl Words for Command {
    fn words(&mut self, line: &str) -> &mut Self {
        let is_variable = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        for word in line.replace("@tests", TESTS).split_whitespace() {
            match word.split_once('=').filter(|(name, _)| is_variable(name)) {
                Some((name, value)) => self.env(name, value),
                None => self.arg(word),
            };
        }
        self
    }

    fn builds_in(&mut self, folder: &str) -> &mut Self {
        self.env("CARGO_TARGET_DIR", target(folder))
    }

    fn finds_programs_in(&mut self, folder: &Path) -> &mut Self {
        self.env("PATH", before(folder, "PATH"))
    }
}

/// The value of a variable that lists folders, with a folder before the others.
pub(crate) fn before(folder: &Path, variable: &str) -> std::ffi::OsString {
    let others = std::env::var_os(variable).unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
    std::env::join_paths(folders).unwrap_or(others)
}

/// A program in the root of the checkout. Compilers find the interpreter of this machine, the
/// same for every environment, so that another environment rebuilds nothing.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).env("CARGO_TERM_COLOR", "never");
    if let Ok(interpreter) = Interpreter::find() {
        command.env("PYO3_PYTHON", &interpreter.executable);
    }
    command
}

/// `cargo` with the words of a line.
pub(crate) fn cargo(line: &str) -> Command {
    let mut command = program("cargo");
    command.words(line);
    command
}

/// `cargo` of another toolchain than the one that runs this.
pub(crate) fn cargo_of(toolchain: &str, line: &str) -> Command {
    let mut command = program("rustup");
    command.args(["run", toolchain, "cargo"]).words(line);
    command
}

/// The output of a short program; nothing where it fails or does not exist.
pub(crate) fn answer_of(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The path of a test program in one of cargo's messages, which are JSON.
pub(crate) fn executable(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    rest.split_once('"').map(|(path, _)| path)
}

/// The paths in lines `Executable tests/import.rs (target/wasm32/debug/deps/import-01.wasm)`,
/// without unit tests.
pub(crate) fn executables(output: &str) -> Vec<&str> {
    let lines = output.lines().filter_map(|line| line.trim_start().strip_prefix("Executable "));
    let lines = lines.filter(|line| !line.starts_with("unittests "));
    lines.filter_map(|line| line.split_once(" (")?.1.strip_suffix(')')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_variables_or_arguments() {
        let command = cargo("RUSTFLAGS=--cfg=loom check --features=a,b");
        assert!(command.get_args().eq(["check", "--features=a,b"]));
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS");
        assert_eq!(flags.and_then(|(_, value)| value), Some(OsStr::new("--cfg=loom")));
    }

    #[test]
    fn paths_of_programs_are_read() {
        let message = r#"{"target":{"kind":["test"]},"executable":"/t/deleter-1","fresh":true}"#;
        assert_eq!(executable(message), Some("/t/deleter-1"));
        assert_eq!(executable(r#"{"executable":null}"#), None);
        let lines = "  Executable unittests src/lib.rs (a/b-1)\n  Executable tests/c.rs (a/c-2)\n";
        assert_eq!(executables(lines), ["a/c-2"]);
    }
}
