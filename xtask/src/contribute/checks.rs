//! What can be said of the sources without running them.

use crate::context::Context;
use crate::contribute::develop::{EXAMPLE, TESTING};
use crate::quality::miri;
use crate::quality::nightly::TOOLCHAIN;
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, answer_of, cargo, cargo_of};
use crate::tools;

/// Sets of features that a change breaks most easily: nothing, what many have, all backends, and with
/// `pyo3`, which brings `std`.
const FEATURE_SETS: &[&str] = &[
    "",
    "std,derive,half,ndarray",
    "cuda,oneapi,opencl,rocm,vulkan,webgpu",
    "pyo3",
    "pyo3,derive,half",
];
/// The other sets.
const OTHER_SETS: &[&str] = &[
    "std",
    "derive",
    "half",
    "num-complex",
    "ndarray",
    "ndarray_0_16",
    "ndarray_0_16,ndarray_0_17",
    "memmap2_0_9",
    "rayon",
    "derive,half",
    "cuda",
    "rocm",
    "cudarc",
    "cuda,rocm",
    "oneapi",
    "opencl",
    "vulkan",
    "webgpu",
    "testing",
    "pyo3,derive",
    "pyo3,half",
    "stubs",
];
/// Stable-ABI modules, built apart: cargo would unify their PyO3 feature `abi3` into all
/// crates.
const STABLE_ABI: [&str; 2] = ["dlpack-conformance", "dlpack-doctor-python"];
/// Targets without `std`, or with one that fails at run time. The second and the third have
/// 32-bit addresses; the second has no 64-bit atomics.
const WITHOUT_STD: [&str; 3] =
    ["aarch64-unknown-none", "thumbv7em-none-eabihf", "wasm32-unknown-unknown"];

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

/// The same lints for the two crates that users have.
pub(crate) fn clippy_of_the_crates(context: &Context, stage: &mut Stage) -> Ending {
    let mut command = cargo(&context.checkout);
    command
        .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
        .args(["clippy", "--package=dlpack-traits", "--package=dlpack-derive", "--all-targets"])
        .args(["--all-features", "--", "--deny=warnings"]);
    Ok(stage.run(&mut command)?)
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

/// The runtime compiles with these features, without a warning.
pub(crate) fn feature_sets(context: &Context, stage: &mut Stage) -> Ending {
    check_each(context, stage, FEATURE_SETS)
}

/// The same with all other sets, and with those of a module that is built alone.
pub(crate) fn each_feature(context: &Context, stage: &mut Stage) -> Ending {
    check_each(context, stage, OTHER_SETS)?;
    let environment = context.environment(stage)?;
    for module in [EXAMPLE, TESTING] {
        let mut command = cargo(&context.checkout);
        command.env("PYO3_PYTHON", &environment.interpreter.executable);
        stage.run(command.args(["check", "--package", module.package]))?;
    }
    Ok(())
}

fn check_each(context: &Context, stage: &mut Stage, sets: &[&str]) -> Ending {
    let environment = context.environment(stage)?;
    for features in sets {
        let mut command = cargo(&context.checkout);
        // `rustc --profile=check` is `check` that can deny warnings in one crate.
        command
            .env("PYO3_PYTHON", &environment.interpreter.executable)
            .args(["rustc", "--profile=check", "--lib", "--package=dlpack-traits"])
            .args(["--no-default-features", "--features", features, "--", "--deny=warnings"]);
        stage.run(&mut command)?;
    }
    Ok(())
}

/// The runtime builds where there is no `std` to be linked by accident. For a target that is
/// not installed, `core` and `alloc` are built from their sources.
pub(crate) fn target_without_std(context: &Context, stage: &mut Stage) -> Ending {
    let installed = answer_of("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    for target in WITHOUT_STD {
        let mut command = if installed.lines().any(|it| it == target) {
            cargo(&context.checkout)
        } else if let Err(reason) = miri::install(stage) {
            let advice = format!("rustup target add {target}");
            return missing(
                "no_std",
                format!("{target} is not installed ({advice}), and {reason}"),
            );
        } else {
            // Miri needs the same sources.
            let mut nightly = cargo_of(&context.checkout, TOOLCHAIN);
            nightly.arg("-Zbuild-std=core,alloc");
            nightly
        };
        command.args(["check", "--package=dlpack-traits", "--no-default-features"]);
        stage.run(command.args(["--features=derive,half", "--target", target]))?;
    }
    Ok(())
}

/// Licences, sources and build scripts of the dependencies, as `deny.toml` says, and
/// advisories where their database, which is on no package registry, can be fetched.
pub(crate) fn cargo_deny(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let folder = match tools::cargo_deny(checkout, stage) {
        Ok(folder) => folder,
        Err(reason) => return missing("cargo-deny", reason),
    };
    let check = |what: &[&str]| {
        let mut command = tools::with_first(&folder, cargo(checkout));
        command.args(["deny", "check"]).args(what);
        command
    };
    stage.run(&mut check(&["bans", "licenses", "sources"]))?;
    let before = stage.log_length()?;
    match stage.run(&mut check(&["advisories"])) {
        Err(_) if stage.logged_since(before).contains(NO_DATABASE) => {
            stage.note("ADVISORIES NOT CHECKED: their database cannot be fetched");
            Ok(())
        }
        ended => Ok(ended?),
    }
}

/// The part of cargo-deny's message by which it says that it has no advisories.
const NO_DATABASE: &str = "failed to fetch advisory database";
