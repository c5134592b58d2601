//! Runs the cases in `ui/` through the compiler.

use std::io::{self, Write as _};
use std::process::Command;

/// The compiler whose own words stand in `ui/rustc`.
const PINNED: &str = "rustc 1.95.";

/// Mistakes that the derive finds. The words are ours, on every compiler.
#[test]
fn derive() {
    trybuild::TestCases::new().compile_fail("ui/derive/*.rs");
}

/// Mistakes that the derives for parts of a tensor find.
#[test]
fn parts() {
    trybuild::TestCases::new().compile_fail("ui/parts/*.rs");
}

/// Mistakes that the compiler finds. Words of ours stand among words of its
/// own, which change from one version to the next.
#[test]
fn rustc() {
    let version = version();
    if version.starts_with(PINNED) {
        let cases = trybuild::TestCases::new();
        cases.compile_fail("ui/rustc/*.rs");
        cases.compile_fail("ui/python/*.rs");
        // Programs without `unsafe` that try to make `#[derive(Element)]` lie.
        cases.compile_fail("ui/proofs/*.rs");
        // With a case that passes, the cases are built and not only checked:
        // constants are evaluated then.
        cases.pass("ui/pass/skipped.rs");
    } else {
        // Not `eprintln!`, which the test harness would swallow.
        let skipped = format!("SKIPPED ui/rustc: blessed with {PINNED}x, this is {version}\n");
        io::stderr().write_all(skipped.as_bytes()).expect("stderr takes a line");
    }
}

/// What looks like a mistake and is none.
#[test]
fn pass() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}

fn version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8(output.stdout).expect("rustc speaks UTF-8").trim().to_owned()
}
