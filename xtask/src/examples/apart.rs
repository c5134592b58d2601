//! Examples that are workspaces of their own, because they need another PyO3, a newer Rust, Node.js
//! or two versions of the crates.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

use crate::checkout::{copy_file, copy_sources, entry, files_below, read, root, target, write};
use crate::command::{Words as _, answer_of, cargo};
use crate::context::Context;
use crate::outcome::{Ending, Outcome, Stop, need};

/// The variable by which the crate `ort` finds ONNX Runtime.
const ONNX_RUNTIME: &str = "ORT_DYLIB_PATH";
/// The version of the second copy of the crates.
const NEXT: &str = "99.0.0";
const CRATES: [&str; 2] = ["dlpack-derive", "dlpack-traits"];

/// `cargo` with the manifest of an example, which is built in its own folder.
fn cargo_in(example: &str, line: &str) -> Command {
    let manifest = format!("--locked --manifest-path=examples/{example}/Cargo.toml");
    let mut command = cargo(&format!("{line} {manifest}"));
    command.builds_in(example);
    command
}

/// Stops an example that has been run on Linux only.
pub(super) fn on_linux() -> Ending {
    let skipped = || Stop::Skipped("the example is for Linux".to_owned());
    if cfg!(target_os = "linux") { Ok(()) } else { Err(skipped()) }
}

/// What other crates make, and what the derive makes of it, is the same.
pub(crate) fn coming_from(context: &Context) -> Ending {
    let environment = context.environment()?;
    let mut command = cargo_in("coming-from", "test");
    command
        .env("PYO3_PYTHON", environment.executable())
        .env("PYTHONHOME", &environment.interpreter.prefix)
        .env("LD_LIBRARY_PATH", &environment.interpreter.libraries);
    context.run_tests(&mut command)
}

/// Tensor types of other crates have equal addresses before and after. The library of ONNX Runtime is
/// the one that the caller names, or that of the wheel.
pub(crate) fn crates(context: &Context) -> Ending {
    let library = if let Some(library) = std::env::var_os(ONNX_RUNTIME) {
        library.into()
    } else {
        let environment = context.environment()?;
        let folder = environment.install_apart(context, "onnxruntime", "onnxruntime")?;
        let name = if cfg!(windows) { "onnxruntime.dll" } else { "libonnxruntime." };
        entry(&folder.join("onnxruntime/capi"), name)?
    };
    // 330 crates without debug information take about 1 GB.
    let mut command = cargo_in("crates", "CARGO_INCREMENTAL=0 test --features ort");
    context.run_tests(command.env(ONNX_RUNTIME, library))
}

/// An addon for Node.js, and its tests with the garbage collector and ONNX Runtime.
pub(crate) fn node(context: &Context) -> Ending {
    let version = answer_of("node", &["--version"]).unwrap_or_default();
    let major = version.trim().trim_start_matches('v').split('.').next();
    let is_new = major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 20);
    let has_both = is_new && answer_of("npm", &["--version"]).is_some();
    need(has_both, "node", "Node.js 20 or later, or npm, is not installed")?;
    context.run(&mut cargo_in("node", "build"))?;
    let package = target("node/package");
    copy_sources(&root().join("examples/node"), &package)?;
    // The lock file that the installed packages belong to.
    let (lock, installed) =
        (package.join("package-lock.json"), package.join("node_modules/installed.json"));
    if read(&lock).ok() != read(&installed).ok() {
        let mut npm = Command::new("npm");
        npm.words("ci --ignore-scripts --no-audit --no-fund");
        context.run(npm.current_dir(&package))?;
        copy_file(&lock, &installed)?;
    }
    let node = || {
        let mut command = Command::new("node");
        let addon = target(format!("node/debug/{DLL_PREFIX}dlpack_node{DLL_SUFFIX}"));
        command.current_dir(&package).env("DLPACK_NODE_ADDON", addon);
        command
    };
    context.show(node().arg("main.mjs"))?;
    on_linux()?;
    let mut files = files_below(&package.join("test"))?;
    files.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
    if files.is_empty() {
        return Err("the addon has no tests.".into());
    }
    let mut tests = node();
    tests.words("--expose-gc --test --test-timeout=60000").args(files);
    let output = context.output_of(&mut tests)?;
    match ["pass", "skipped"].map(|name| output.lines().find_map(|line| number(line, name))) {
        [Some(passed @ 1..), Some(0)] => {
            context.note(format!("{passed} tests of the addon passed"));
            Ok(())
        }
        _ => Err("Node.js ran no tests of the addon, or skipped some.".into()),
    }
}

/// The number in a line `# pass 25`, or `ℹ pass 25` on a terminal.
fn number(line: &str, name: &str) -> Option<u32> {
    let (_, rest) = line.split_once(' ')?;
    rest.strip_prefix(name)?.trim().parse().ok()
}

/// The crate `tvm-ffi` builds beside the Python package only. Rust tests, and a Python program that
/// calls the same library.
pub(crate) fn tvm_ffi(context: &Context) -> Ending {
    on_linux()?;
    let environment = context.environment()?;
    let programs = environment.programs();
    let libraries = answer_of(programs.join("tvm-ffi-config"), &["--libdir"]);
    let libraries = libraries.ok_or("tvm-ffi-config does not run.")?;
    for command in ["build", "test"] {
        let mut command = cargo_in("tvm-ffi", command);
        command.finds_programs_in(&programs).env("LD_LIBRARY_PATH", libraries.trim());
        context.run(&mut command)?;
    }
    let library = target(format!("tvm-ffi/debug/{DLL_PREFIX}points{DLL_SUFFIX}"));
    let mut python = environment.python("examples/tvm-ffi/test_functions.py");
    Ok(context.run(python.arg(library))?)
}

/// A program with two versions of the crates, which are copied for it.
pub(crate) fn two_versions(context: &Context) -> Ending {
    let folder = target("two-versions");
    copy_crates(&folder.join("crates"), env!("CARGO_PKG_VERSION"))?;
    copy_crates(&folder.join("next"), NEXT)?;
    let program = root().join("examples/two-versions");
    for member in ["library", "program", "reader"] {
        copy_sources(&program.join(member), &folder.join(member))?;
    }
    copy_file(&program.join("Cargo.toml"), &folder.join("Cargo.toml"))?;
    // The versions of other crates are those of this checkout.
    copy_file(&root().join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let cargo = |line: &str| {
        let mut command = cargo(line);
        command.current_dir(&folder).builds_in("two-versions/target");
        command
    };
    context.run(&mut cargo("build --package program"))?;
    context.show(&mut cargo("run --quiet --package program"))?;
    for (line, message) in [
        ("--package reader", "`#[dlpack(crate = that_crate::dlpack_traits)]`"),
        ("--package program --features without-crate", "_see_attribute_crate`"),
    ] {
        let mut check = cargo(&format!("check --bins {line}"));
        let (passed, output) = context.attempt(&mut check, None)?;
        if passed || !output.contains(message) {
            context.log(&output);
            return Err(format!("{line} should fail with {message}.").into());
        }
    }
    Ok(())
}

/// Copies the two crates and what they inherit, with a version.
fn copy_crates(to: &Path, version: &str) -> Outcome {
    let current = env!("CARGO_PKG_VERSION");
    let name = |version: &str| format!("dlpack_derive_{}", version.replace('.', "_"));
    for package in CRATES {
        copy_sources(&root().join(package), &to.join(package))?;
    }
    let private = to.join("dlpack-traits/src/__private/mod.rs");
    write(&private, read(&private)?.replace(&name(current), &name(version)))?;
    let manifest = read(&root().join("Cargo.toml"))?;
    let (_, rest) = manifest.split_once("[workspace.package]").ok_or("no [workspace.package]")?;
    let rest = rest.replace(&format!("\"{current}\""), &format!("\"{version}\""));
    let rest = rest.replace(&format!("\"={current}\""), &format!("\"={version}\""));
    let members = format!("[workspace]\nmembers = {CRATES:?}\n\n[workspace.package]");
    write(&to.join("Cargo.toml"), members + &rest)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn counts_of_tests_are_read_with_and_without_a_terminal() {
        assert_eq!(number("# pass 25", "pass"), Some(25));
        assert_eq!(number("ℹ skipped 0", "skipped"), Some(0));
        assert_eq!(number("# pass 25", "fail"), None);
    }
}
