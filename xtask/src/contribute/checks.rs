//! What can be said of the sources without running them.

use std::process::Command;

use crate::contribute::test::Context;
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, answer_of, cargo, cargo_of};

/// Every set of the features that need no Python; `std` is in a set of its own
/// and in the last one.
const FEATURE_SETS: &[&str] = &[
    "",
    "std",
    "derive",
    "half",
    "ndarray",
    "derive,half",
    "std,derive,half,ndarray",
    "cuda",
    "rocm",
    "cudarc",
    "cuda,rocm",
    "oneapi",
    "opencl",
    "vulkan",
    "webgpu",
    "cuda,oneapi,opencl,rocm,vulkan,webgpu",
];
/// The sets with `pyo3`, which brings `std`.
const FEATURE_SETS_WITH_PYO3: &[&str] = &["pyo3", "pyo3,derive", "pyo3,half", "pyo3,derive,half"];
/// Stable-ABI modules, built apart: cargo would unify their PyO3 feature `abi3` into all
/// crates.
const STABLE_ABI: [&str; 2] = ["dlpack-conformance", "dlpack-doctor-python"];
/// A target that has no standard library.
const WITHOUT_STD: &str = "x86_64-unknown-none";
/// `rust-version` of the workspace.
const OLDEST_RUST: &str = "1.85";
/// All features but `cudarc`: that crate needs a later Rust.
const FEATURES_OF_OLDEST_RUST: &str = "--features=dlpack-traits/bytes,dlpack-traits/cuda,\
    dlpack-traits/derive,dlpack-traits/half,dlpack-traits/memmap2,dlpack-traits/ndarray,\
    dlpack-traits/oneapi,dlpack-traits/opencl,dlpack-traits/pyo3,dlpack-traits/rocm,\
    dlpack-traits/std,dlpack-traits/vulkan,dlpack-traits/webgpu";

/// `Cargo.lock` answers the manifests, and all it names is fetched.
pub(crate) fn lock_file(context: &Context, stage: &mut Stage) -> Ending {
    stage.run(cargo(&context.checkout).args(["fetch", "--locked"])).map_err(|_| {
        Stop::Failed(
            "`cargo fetch --locked` failed: commit Cargo.lock after any change of a manifest, and \
             check the network."
                .to_owned(),
        )
    })
}

/// The sources are formatted.
pub(crate) fn rustfmt(context: &Context, stage: &mut Stage) -> Ending {
    stage.run(cargo(&context.checkout).args(["fmt", "--all", "--check"])).map_err(|_| {
        Stop::Failed("the sources are not formatted; run `cargo fmt --all`.".to_owned())
    })
}

/// All lints, for all targets and features, denied.
pub(crate) fn clippy(context: &Context, stage: &mut Stage) -> Ending {
    for packages in everywhere() {
        let mut command = cargo(&context.checkout);
        command
            .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
            .arg("clippy")
            .args(packages)
            .args(["--all-targets", "--all-features", "--", "--deny=warnings"]);
        stage.run(&mut command)?;
    }
    Ok(())
}

/// Workspaces of their own whose commands are too long for `cargo xtask test`: what
/// they take of the crate's sources is still there.
pub(crate) fn workspaces_apart(context: &Context, stage: &mut Stage) -> Ending {
    for (folder, targets, flags) in [
        ("quality/fuzz", "--bins", ""),
        ("quality/loom", "--tests", "--cfg loom"),
        ("quality/loom", "--bins", "--cfg loom"),
        ("quality/mutants/score", "--all-targets", ""),
        ("bench", "--all-targets", ""),
    ] {
        let mut command = cargo(&context.checkout);
        command
            .current_dir(context.checkout.root().join(folder))
            .env("RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", context.checkout.target().join("apart"))
            // Nothing is linked, so nothing of libFuzzer has to be compiled, which is C++.
            .env("CUSTOM_LIBFUZZER_PATH", "none/libfuzzer.a")
            .args(["check", "--locked", targets]);
        stage.run(&mut command)?;
    }
    Ok(())
}

/// The documentation builds without a warning.
pub(crate) fn docs(context: &Context, stage: &mut Stage) -> Ending {
    for packages in everywhere() {
        let mut command = cargo(&context.checkout);
        command
            .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
            .env("RUSTDOCFLAGS", "--deny=warnings")
            .arg("doc")
            .args(packages)
            .args(["--no-deps", "--all-features"]);
        stage.run(&mut command)?;
    }
    Ok(())
}

/// All packages, by two selections.
fn everywhere() -> [Vec<String>; 2] {
    let others = STABLE_ABI.iter().map(|package| format!("--exclude={package}"));
    let these = STABLE_ABI.iter().map(|package| format!("--package={package}"));
    [std::iter::once("--workspace".to_owned()).chain(others).collect(), these.collect()]
}

/// The runtime builds without a warning with every set of features, also
/// without `std`.
pub(crate) fn feature_sets(context: &Context, stage: &mut Stage) -> Ending {
    for set in FEATURE_SETS {
        stage.run(check_with(&mut cargo(&context.checkout), set))?;
    }
    Ok(())
}

/// The same for sets that need an interpreter to build.
pub(crate) fn feature_sets_with_pyo3(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    for set in FEATURE_SETS_WITH_PYO3 {
        let mut command = cargo(&context.checkout);
        command.env("PYO3_PYTHON", &environment.interpreter.executable);
        stage.run(check_with(&mut command, set))?;
    }
    Ok(())
}

fn check_with<'a>(cargo: &'a mut Command, features: &str) -> &'a mut Command {
    // `rustc --profile=check` is `check` that can deny warnings in one crate.
    cargo.args(["rustc", "--profile=check", "--lib", "--package=dlpack-traits"]).args([
        "--no-default-features",
        "--features",
        features,
        "--",
        "--deny=warnings",
    ])
}

/// The runtime builds where there is no `std` to be linked by accident.
pub(crate) fn target_without_std(context: &Context, stage: &mut Stage) -> Ending {
    let installed = answer_of("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    if !installed.lines().any(|target| target == WITHOUT_STD) {
        return missing(
            "no_std",
            format!("the target is not installed (rustup target add {WITHOUT_STD})"),
        );
    }
    let mut command = cargo(&context.checkout);
    command.args(["check", "--package=dlpack-traits", "--no-default-features"]);
    command.args(["--features=derive,half", "--target", WITHOUT_STD]);
    Ok(stage.run(&mut command)?)
}

/// The published crates build with the oldest Rust they promise.
pub(crate) fn oldest_rust(context: &Context, stage: &mut Stage) -> Ending {
    let version = answer_of("rustup", &["run", OLDEST_RUST, "rustc", "--version"]);
    let Some(version) = version else {
        return missing(
            "msrv",
            format!(
                "Rust {OLDEST_RUST} is not installed (rustup toolchain install {OLDEST_RUST} \
                 --profile minimal)"
            ),
        );
    };
    let environment = context.environment(stage)?;
    stage.note(version.trim());
    let mut command = cargo_of(&context.checkout, OLDEST_RUST);
    command
        .env("PYO3_PYTHON", &environment.interpreter.executable)
        .args(["check", "--package=dlpack-traits", "--package=dlpack-derive"])
        .arg(FEATURES_OF_OLDEST_RUST)
        .arg("--target-dir")
        .arg(context.checkout.target().join("oldest-rust"));
    Ok(stage.run(&mut command)?)
}

/// Licences, sources and build scripts of the dependencies, as `deny.toml` says.
/// Not advisories: their database is on no package registry, so that this step
/// would depend on one more host (`cargo deny check advisories` asks it).
pub(crate) fn cargo_deny(context: &Context, stage: &mut Stage) -> Ending {
    if answer_of("cargo", &["deny", "--version"]).is_none() {
        return missing(
            "cargo-deny",
            "cargo-deny is not installed (cargo install cargo-deny)".to_owned(),
        );
    }
    let what = ["deny", "check", "bans", "licenses", "sources"];
    Ok(stage.run(cargo(&context.checkout).args(what))?)
}
