//! Tests under sanitizers and valgrind, and fuzzing.

use std::path::Path;
use std::process::Command;

use crate::checkout::{make_folder, root, target};
use crate::command::{
    IS_PLATFORM, NIGHTLY, NO_ASM, PLATFORM, Words as _, answer_of, cargo, cargo_of, executable,
};
use crate::context::Context;
use crate::modules::{Build, EXAMPLE, Profile, TESTING};
use crate::outcome::{Ending, need};
use crate::tools;

/// Tests with threads. Those that read sources take very long under a sanitizer that
/// counts every access.
const THREADED_TESTS: &str = "--lib --test=deleter --test=devices --test=exchange --test=export \
    --test=faults --test=sync_for --test=import";
/// Tests in Python of code that reads foreign memory, and of threads.
const PYTHON_TESTS: &str = "tests/python/test_capsules.py tests/python/test_exchange_table.py \
    tests/python/test_hostile_tables.py tests/python/test_import_capsules.py \
    tests/python/test_import_tables.py tests/python/test_threads.py";
/// The program with the exchanges that valgrind and AddressSanitizer watch.
const ROUNDS: &str = "tests/python/rounds_under_valgrind.py";
/// The system's own Python, for which valgrind has suppressions, and the file of these.
const PYTHON: &str = "/usr/bin/python3";
const SUPPRESSIONS: &str = "/usr/lib/valgrind/python3.supp";
const VALGRIND: &str = "--error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite";

/// The fuzz targets, by the names of their files in `quality/fuzz/fuzz_targets`.
pub(crate) const TARGETS: [&str; 6] =
    ["raw_import", "layout", "peer_table", "exchange_table", "allocator", "derive"];
/// The target that is built without AddressSanitizer: it contains no `unsafe`, and runs a
/// hundred times as fast without it. Tracing of comparisons does not help it either.
const SAFE_TARGET: &str = "derive";

/// Requires the nightly compiler on the platform of the sanitizers.
pub(crate) fn nightly(tool: &str) -> Ending {
    need(IS_PLATFORM, tool, &format!("the sanitized tests are for {PLATFORM}"))?;
    tools::nightly(tool)
}

/// Detects accesses outside of allocations and after their end.
pub(crate) fn address(context: &Context) -> Ending {
    // Tests that watch pages have handlers of their own; what requires more memory
    // than there is expects an error.
    let options = "detect_leaks=1:handle_segv=0:allocator_may_return_null=1";
    sanitized(context, "asan", "address", &format!("ASAN_OPTIONS={options} --lib --tests"))
}

/// Detects leaks.
pub(crate) fn leak(context: &Context) -> Ending {
    let line = "LSAN_OPTIONS=handle_segv=0:allocator_may_return_null=1 --lib --tests";
    sanitized(context, "lsan", "leak", line)
}

/// Detects data races. The standard library is instrumented too; otherwise its
/// synchronization would be invisible to the sanitizer.
pub(crate) fn thread(context: &Context) -> Ending {
    tools::miri(context, "tsan")?;
    // The device of the tests has threads that wait for work until the process ends.
    let options = "report_thread_leaks=0:handle_segv=0:allocator_may_return_null=1";
    let line = format!("TSAN_OPTIONS={options} -Zbuild-std {THREADED_TESTS}");
    sanitized(context, "tsan", "thread", &line)
}

/// Runs Rust tests, built with a sanitizer. Build scripts are not sanitized, because a target is
/// named. A variable tells tests that measure memory that a sanitizer retains freed memory.
fn sanitized(context: &Context, tool: &str, sanitizer: &str, line: &str) -> Ending {
    nightly(tool)?;
    let mut command = cargo_of(
        NIGHTLY,
        "CARGO_INCREMENTAL=0 DLPACK_SANITIZED=1 test --no-fail-fast --target-dir=target/sanitize \
         @tests",
    );
    command.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer} {NO_ASM}"));
    context.run_tests(command.args(["--target", PLATFORM]).words(line))
}

/// Runs the tests with a standard library that checks the preconditions of its `unsafe`
/// functions.
pub(crate) fn careful(context: &Context) -> Ending {
    tools::miri(context, "cargo-careful")?;
    let folder = tools::cargo_tool(context, "cargo-careful")?;
    let line = "careful test --no-fail-fast --lib --tests --target-dir=target/careful @tests";
    context.run_tests(cargo_of(NIGHTLY, line).finds_programs_in(&folder))
}

/// Runs the deleter tests under valgrind; an invalid access or a definite leak is a failure.
pub(crate) fn deleters(context: &Context) -> Ending {
    tools::valgrind(context)?;
    let line = "test --no-run --message-format=json-render-diagnostics @tests --test deleter";
    let output = context.output_of(&mut cargo(line))?;
    let mut messages = output.lines().filter(|line| line.contains("\"name\":\"deleter\""));
    let binary = messages.find_map(executable).ok_or("cargo built no test binary `deleter`.")?;
    let mut command = Command::new("valgrind");
    // One thread: valgrind runs one at a time anyhow.
    command.words(VALGRIND).arg(binary).arg("--test-threads=1").current_dir(root());
    Ok(context.run(&mut command)?)
}

/// Runs the extension module in an interpreter under valgrind.
pub(crate) fn cpython_under_valgrind(context: &Context) -> Ending {
    tools::valgrind(context)?;
    let has_python = answer_of(PYTHON, &["--version"]).is_some();
    need(has_python, "valgrind", &format!("there is no {PYTHON}"))?;
    need(Path::new(SUPPRESSIONS).exists(), "valgrind", &format!("there is no {SUPPRESSIONS}"))?;
    let build = Build::below(&target("valgrind"), Path::new(PYTHON), Profile::Dev);
    build.run(context, &[TESTING])?;
    let mut command = Command::new("valgrind");
    command.words(VALGRIND).words("PYTHONMALLOC=malloc --suppressions=tests/python/pyo3.supp");
    command.arg(format!("--suppressions={SUPPRESSIONS}")).args([PYTHON, "-I", ROUNDS]);
    Ok(context.run(command.arg(&build.modules).current_dir(root()))?)
}

/// Runs extension modules that are built with AddressSanitizer in an interpreter that is not. Leak
/// detection is off: the interpreter leaks on its own, and valgrind has suppressions for those leaks.
/// Allocations that exceed the memory must fail instead of aborting the process.
pub(crate) fn cpython_with_address_sanitizer(context: &Context) -> Ending {
    nightly("asan")?;
    let library = |name: &str| {
        let found = answer_of("gcc", &[&format!("-print-file-name={name}")])?;
        // The bare name means that there is none.
        Some(found.trim().to_owned()).filter(|path| Path::new(path).is_absolute())
    };
    let preloaded = library("libasan.so").zip(library("libstdc++.so"));
    let advice = "gcc has no libasan or no libstdc++ (install g++)";
    need(preloaded.is_some(), "asan", advice)?;
    let preloaded = preloaded.map(|(asan, cpp)| format!("{asan} {cpp}")).unwrap_or_default();
    let environment = context.environment()?;
    let mut build = Build::below(
        &target("sanitize"),
        &environment.interpreter.executable,
        Profile::Sanitized("address"),
    );
    build.target = target("sanitize");
    build.run(context, &[TESTING, EXAMPLE])?;
    let sanitized = |command: &mut Command| {
        command.env("LD_PRELOAD", &preloaded).words(
            "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1 \
             DLPACK_SANITIZED=1 PYTHONMALLOC=malloc",
        );
        context.run(command)
    };
    sanitized(environment.python(ROUNDS).arg(&build.modules))?;
    let mut tests = environment.python("-m pytest -ra --color=no --capture=sys");
    tests.words(PYTHON_TESTS).words("DLPACK_REQUIRE=numpy,tvm_ffi");
    Ok(sanitized(tests.env("DLPACK_PYTHON_MODULES", &build.modules))?)
}

/// Runs fuzz targets one after the other, each for so many seconds. The crate `quality/fuzz` is a
/// workspace of its own. What cargo-fuzz finds on the way stays in `target/fuzz-corpus`; what is kept
/// is in `quality/fuzz/seeds`.
pub(crate) fn fuzz(context: &Context, chosen: Option<&str>, seconds: u32) -> Ending {
    nightly("cargo-fuzz")?;
    let program = tools::cargo_tool(context, "cargo-fuzz")?;
    // With the cfg of fuzzing `proc-macro2` reports no span locations.
    let fuzz = |verb: &str, name: &str| {
        let line = format!("fuzz {verb} --fuzz-dir=quality/fuzz --no-cfg-fuzzing --target-dir");
        let mut command = cargo_of(NIGHTLY, &line);
        command.finds_programs_in(&program);
        if name == SAFE_TARGET {
            command.arg(target("fuzz-safe")).words("--sanitizer=none --no-trace-compares");
        } else {
            // cargo-fuzz adds its own flags to these.
            command.arg(target("fuzz")).env("RUSTFLAGS", NO_ASM);
        }
        command.arg(name);
        command
    };
    for name in TARGETS.iter().filter(|name| chosen.is_none_or(|chosen| chosen == **name)) {
        context.run(&mut fuzz("build", name))?;
        let corpus = target("fuzz-corpus").join(name);
        make_folder(&corpus)?;
        let mut run = fuzz("run", name);
        run.arg(&corpus).arg(root().join("quality/fuzz/seeds").join(name));
        run.words(&format!("-- -max_total_time={seconds} -max_len=1024 -print_final_stats=1"));
        let output = context.output_of(&mut run).map_err(|error| {
            format!("{name}: {error} The input is in quality/fuzz/artifacts/{name}.")
        })?;
        let mut lines = output.lines().rev();
        let count = lines.find(|line| line.starts_with("stat::number_of_executed_units:"));
        let count = count.and_then(|line| line.rsplit(' ').next()).unwrap_or("?");
        context.note(format!("{name}: {count} executions without a finding"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::{entry, read};

    /// Each target is in the manifest, and has a file and seeds.
    #[test]
    fn fuzz_targets_exist() {
        let folder = root().join("quality/fuzz");
        let manifest = read(&folder.join("Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(folder.join(format!("fuzz_targets/{target}.rs")).exists(), "{target}");
            entry(&folder.join("seeds").join(target), "").unwrap();
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
