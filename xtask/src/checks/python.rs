//! Tests and measurements in Python, with modules that were built before.

use crate::checkout::{copy_sources, read, root, target};
use crate::command::{Words as _, cargo};
use crate::context::Context;
use crate::environment::Environment;
use crate::modules::{Build, CONFORMANCE, EXAMPLE, Profile, TESTING};
use crate::outcome::{Ending, Outcome, missing};

/// One process of pytest for each processor, each of which runs whole files.
pub(crate) const PARALLEL: &str = "--numprocesses=auto --maxprocesses=4 --dist=loadfile";
/// The test files for the newest JAX, and for the suite of the newest NumPy: other steps have older
/// ones.
const FOR_NEWEST: &str = "tests/python/standard tests/python/test_array_like.py \
    tests/python/test_array_methods.py tests/python/test_buffers.py \
    tests/python/test_interpreters.py tests/python/test_pending.py \
    tests/python/peers/peer_jax.py tests/python/peers/peer_tvm_ffi.py";
/// Both ends of the range of PyO3 in the root `Cargo.toml`.
const OLDEST_PYO3: &str = "0.27.2";
const NEWEST_PYO3: &str = "0.30.";
/// The series between them, each as its last release.
const BETWEEN: [&str; 2] = ["0.28.3", "0.29.3"];

/// The Python tests against the modules in `target/python`.
pub(crate) fn tests(context: &Context) -> Ending {
    Ok(context.run(context.modules()?.pytest("", PARALLEL).arg("tests/python"))?)
}

/// The tests of the newest libraries, in an environment of their own.
pub(crate) fn newest_libraries(context: &Context) -> Ending {
    let Some(environment) = context.newest()? else {
        return missing(
            "newest-python",
            "there is no Python 3.13 or 3.12 for the newest libraries",
        );
    };
    Ok(context.run(environment.pytest("", PARALLEL).words(FOR_NEWEST))?)
}

/// The demonstration of the example module, in an environment that has it.
pub(crate) fn demo(context: &Context, environment: &Environment) -> Ending {
    let line = "examples/python/demo.py --out target/demo";
    Ok(context.show(&mut environment.python(line))?)
}

/// `cargo xtask develop`: the example module, so that Python can import it.
pub(crate) fn develop(context: &Context) -> Ending<&Environment> {
    let environment = context.environment()?;
    context.build()?.run_for(context, &[EXAMPLE], &environment.python(""))?;
    context.note(format!("target/venv/bin/python imports {}", EXAMPLE.name));
    Ok(environment)
}

/// Measures which library accepts which tensors from which; fails where a cell is worse than
/// `docs/generated/interop.md` says, or writes that page.
pub(crate) fn matrix(context: &Context, write: bool) -> Ending {
    let environment = if write { develop(context)? } else { context.modules()? };
    let mut command = environment.python("tests/python/matrix/main.py");
    match context.newest()? {
        Some(newest) => drop(command.arg("--newest").arg(newest.executable())),
        None => context.note("SKIPPED the newest libraries: there is no Python 3.13 or 3.12"),
    }
    command.args(write.then_some("--write")).env("DLPACK_REQUIRE", environment.required(""));
    Ok(context.show(&mut command)?)
}

/// `cargo xtask conformance`: measures all libraries, and writes `docs/generated/conformance.md`. It
/// fails where this project's importer has a finding, or a library is missing.
pub(crate) fn conformance(context: &Context) -> Ending {
    let environment = develop(context)?;
    context.build()?.run_for(context, &[CONFORMANCE], &environment.python(""))?;
    let line = "tests/python/conformance/record.py --write";
    Ok(context.show(&mut environment.python(line))?)
}

/// Checks the modules with every series of PyO3 between the ends, in a copy of the
/// sources: what one series has under one name, the next may have under two.
pub(crate) fn series_between(context: &Context) -> Ending {
    let place = target("pyo3-range/between");
    let sources = place.join("src");
    copy_sources(root(), &sources)?;
    for version in BETWEEN {
        pin_pyo3(context, &sources, version)?;
        let mut check = cargo("check --package dlpack-example --package dlpack-testing");
        context.run(check.current_dir(&sources).builds_in("pyo3-range/between/target"))?;
        context.note(format!("PyO3 {version} compiles"));
    }
    Ok(())
}

/// Builds the modules with the oldest PyO3 in a copy of the sources, and runs
/// the Python tests against them.
pub(crate) fn oldest_pyo3(context: &Context) -> Ending {
    // Some tests import the conformance tool of this checkout.
    let environment = context.modules()?;
    let newest = format!("name = \"pyo3\"\nversion = \"{NEWEST_PYO3}");
    if !read(&root().join("Cargo.lock"))?.contains(&newest) {
        return Err(format!("Cargo.lock has no PyO3 {NEWEST_PYO3}x: `cargo update pyo3`.").into());
    }
    // Not the target folder of the checkout: cargo would take the crates of the copy for those of
    // the checkout.
    let place = target("pyo3-range").join(OLDEST_PYO3);
    let python = &environment.interpreter.executable;
    let build = Build { sources: place.join("src"), ..Build::below(&place, python, Profile::Dev) };
    copy_sources(root(), &build.sources)?;
    pin_pyo3(context, &build.sources, OLDEST_PYO3)?;
    // The tool's own tests import nothing that was built here.
    let line = "tests/python --ignore=tests/python/conformance/test_conformance_tool.py";
    let mut tests = environment.pytest("", PARALLEL);
    tests.words(line).env("PYTHONPATH", &build.modules);
    build.run_for(context, &[EXAMPLE, TESTING], &tests)?;
    Ok(context.run(&mut tests)?)
}

/// Pins PyO3 in a copy of the sources.
pub(crate) fn pin_pyo3(context: &Context, sources: &std::path::Path, version: &str) -> Outcome {
    let mut update = cargo(&format!("update --package pyo3 --precise {version}"));
    context.run(update.current_dir(sources))
}

/// Exchanges of each of eight threads in each direction, a million.
pub(crate) fn load(context: &Context) -> Ending {
    Ok(context.run(&mut context.modules()?.python("tests/python/load.py --rounds 1000000"))?)
}

/// Interpreters that end while tensors are out, a thousand.
pub(crate) fn exits(context: &Context) -> Ending {
    Ok(context.run(&mut context.modules()?.python("tests/python/exits.py --rounds 1000"))?)
}

/// All directions at once for so many seconds: Rust and Python at the same time, each in a process of
/// its own.
pub(crate) fn soak(context: &Context, seconds: u32) -> Ending {
    let line = format!("tests/python/load.py --seconds {seconds}");
    let python = context.modules()?.python(&line);
    let mut rust = cargo("test --release --test=faults @tests soak::");
    rust.words("-- --nocapture --include-ignored").env("DLPACK_SOAK", seconds.to_string());
    let outputs =
        context.run_all(vec![("Python".to_owned(), python), ("Rust".to_owned(), rust)])?;
    let rust = outputs.iter().find(|(name, _)| name == "Rust").map_or("", |(_, output)| output);
    rust.lines().filter(|line| line.contains("exchanges")).for_each(|line| context.note(line));
    if rust.contains("exchanges") { Ok(()) } else { Err("no test of the soak ran.".into()) }
}

#[cfg(test)]
mod tests {
    use super::{NEWEST_PYO3, OLDEST_PYO3};

    #[test]
    fn both_ends_are_those_of_the_manifest() {
        assert!(include_str!("../../../Cargo.toml").contains("\">=0.27, <0.31\""));
        assert!(OLDEST_PYO3.starts_with("0.27.") && NEWEST_PYO3 == "0.30.");
    }
}
