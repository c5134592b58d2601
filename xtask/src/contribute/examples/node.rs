//! `examples/node`: an addon for Node.js, in a separate workspace, and its tests with the
//! garbage collector and ONNX Runtime.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::{announced, in_terminal};
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, answer_of, cargo};

/// Where the example is, from the root.
const FOLDER: &str = "examples/node";
/// What npm and Node.js read; the rest of the folder is the addon.
const FILES: [&str; 11] = [
    ".npmrc",
    "package.json",
    "package-lock.json",
    "addon.mjs",
    "main.mjs",
    "model.mjs",
    "test/to_javascript.test.mjs",
    "test/to_rust.test.mjs",
    "test/onnxruntime.test.mjs",
    "test/parts/helpers.mjs",
    "test/parts/worker.mjs",
];
/// The lock file that the installed packages belong to.
const INSTALLED: &str = "node_modules/installed.json";
/// The first major version of Node.js with all that the example uses.
const OLDEST: u32 = 20;

pub(super) fn run(checkout: &Checkout) -> Outcome {
    runtime()?;
    let package = announced(checkout, "node", "built", |stage| build(checkout, stage))?;
    println!();
    in_terminal(node(checkout, &package).arg("main.mjs"))
}

/// The example and its tests.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(target_os = "linux") {
        return Err(Stop::Skipped("the example has been run on Linux only".to_owned()));
    }
    if let Err(reason) = runtime() {
        return missing("node", reason);
    }
    let checkout = &context.checkout;
    let package = build(checkout, stage)?;
    stage.run(node(checkout, &package).arg("main.mjs"))?;
    let tests = FILES.iter().filter(|name| name.ends_with(".test.mjs"));
    let mut test = node(checkout, &package);
    test.args(["--expose-gc", "--test", "--test-timeout=60000"]).args(tests);
    let before = stage.log_length()?;
    stage.run(&mut test)?;
    let printed = stage.logged_since(before);
    let count = |name| printed.lines().find_map(|line| number(line, name));
    match (count("pass"), count("skipped")) {
        (Some(passed @ 1..), Some(0)) => {
            stage.note(&format!("{passed} tests of the addon passed"));
            Ok(())
        }
        _ => Err(Stop::Failed("Node.js ran no tests of the addon, or skipped some.".to_owned())),
    }
}

/// The number in a line `# pass 25`, or `ℹ pass 25` on a terminal.
fn number(line: &str, name: &str) -> Option<u32> {
    let (_, rest) = line.split_once(' ')?;
    rest.strip_prefix(name)?.trim().parse().ok()
}

/// Whether Node.js and npm are there.
fn runtime() -> Outcome {
    let version = answer_of("node", &["--version"])
        .ok_or_else(|| format!("Node.js is not installed; install version {OLDEST} or later"))?;
    let major = version.trim().trim_start_matches('v').split('.').next();
    let major: Option<u32> = major.and_then(|major| major.parse().ok());
    if major.is_none_or(|major| major < OLDEST) {
        let version = version.trim();
        return Err(format!("Node.js is {version}; install version {OLDEST} or later"));
    }
    answer_of("npm", &["--version"]).map(drop).ok_or_else(|| "npm is not installed".to_owned())
}

/// Node.js in the folder of the package, with the path of the addon.
fn node(checkout: &Checkout, package: &Path) -> Command {
    let mut command = Command::new("node");
    let addon = format!("debug/{DLL_PREFIX}dlpack_node{DLL_SUFFIX}");
    command
        .current_dir(package)
        .env("DLPACK_NODE_ADDON", checkout.target().join("node").join(addon));
    command
}

/// Builds the addon, and installs the package beside it. Returns the folder of the package.
fn build(checkout: &Checkout, stage: &mut Stage) -> Outcome<PathBuf> {
    let (source, target) = (checkout.root().join(FOLDER), checkout.target().join("node"));
    let mut addon = cargo(checkout);
    addon
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--locked", "--manifest-path"])
        .arg(source.join("Cargo.toml"));
    stage.run(&mut addon)?;
    let package = target.join("package");
    for name in FILES {
        let (from, to) = (source.join(name), package.join(name));
        let folder = to.parent().unwrap_or(&package);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::copy(&from, &to))
            .map_err(|error| format!("{} cannot be copied ({error}).", from.display()))?;
    }
    let lock = source.join("package-lock.json");
    let installed = package.join(INSTALLED);
    if std::fs::read(&lock).ok() != std::fs::read(&installed).ok() {
        let mut npm = Command::new("npm");
        npm.current_dir(&package).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        stage.run(&mut npm)?;
        std::fs::copy(&lock, &installed)
            .map_err(|error| format!("{} cannot be written ({error}).", installed.display()))?;
    }
    Ok(package)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn counts_of_tests_are_read_with_and_without_a_terminal() {
        assert_eq!(number("# pass 25", "pass"), Some(25));
        assert_eq!(number("ℹ skipped 0", "skipped"), Some(0));
        assert_eq!(number("# pass 25", "fail"), None);
        assert_eq!(number("ok 1 - pass", "pass"), None);
    }
}
