//! The extension module under AddressSanitizer, in an interpreter that is not.

use std::path::Path;
use std::process::Command;

use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo_of};
use crate::sanitize::{PLATFORM, PYTHON, nightly};
use crate::test::Context;

/// Tests of what reads foreign memory, and of threads.
const TESTS: [&str; 6] = [
    "tests/python/test_capsules.py",
    "tests/python/test_exchange_table.py",
    "tests/python/test_hostile_tables.py",
    "tests/python/test_import_capsules.py",
    "tests/python/test_import_tables.py",
    "tests/python/test_threads.py",
];

/// Rounds in the system's Python, where a leak is a failure too, and tests in that of
/// the environment, whose libraries leak.
pub(crate) fn cpython(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = nightly() {
        return missing("asan", reason);
    }
    let libraries = ["libasan.so", "libstdc++.so"].map(library);
    let [Some(runtime), Some(cpp)] = libraries else {
        return missing("asan", "gcc has no libasan or no libstdc++ (install g++)".to_owned());
    };
    if answer_of(PYTHON, &["--version"]).is_none() {
        return missing("asan", format!("there is no {PYTHON}"));
    }
    let checkout = &context.checkout;
    let environment = context.environment()?;
    let target = checkout.target().join("sanitize");
    let folder = target.join("python");
    let preload = format!("{runtime} {cpp}");
    let options = |leaks: u8| {
        format!("detect_leaks={leaks}:verify_asan_link_order=0:allocator_may_return_null=1")
    };
    let ours = environment.interpreter.executable.to_string_lossy().into_owned();
    for (interpreter, leaks) in [(PYTHON.to_owned(), 1), (ours, 0)] {
        for package in ["dlpack-testing", "dlpack-example"] {
            let mut build = cargo_of(checkout, crate::miri::TOOLCHAIN);
            build
                .env("RUSTFLAGS", "-Zsanitizer=address")
                .env("PYO3_PYTHON", &interpreter)
                .env("CARGO_INCREMENTAL", "0")
                .args(["rustc", "--lib", "--target", PLATFORM, "--package", package])
                .arg("--target-dir")
                .arg(&target);
            stage.run(&mut build)?;
            let name = package.replace('-', "_");
            let built = target.join(PLATFORM).join(format!("debug/lib{name}.so"));
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::copy(&built, folder.join(format!("{name}.so"))))
                .map_err(|error| format!("{} cannot be copied ({error}).", built.display()))?;
        }
        let mut python = if leaks == 1 {
            let mut python = Command::new(PYTHON);
            python.args(["-I", "tests/python/rounds_under_valgrind.py"]).arg(&folder);
            python
        } else {
            let mut python = environment.python(checkout);
            python.args(["-m", "pytest", "-ra", "--color=no"]).args(TESTS);
            python.env("DLPACK_PYTHON_MODULES", &folder).env("DLPACK_REQUIRE", "numpy,tvm_ffi");
            python
        };
        python
            .current_dir(checkout.root())
            .env("LD_PRELOAD", &preload)
            .env("ASAN_OPTIONS", options(leaks))
            .env("DLPACK_SANITIZED", "1")
            .env("PYTHONMALLOC", "malloc");
        stage.run(&mut python)?;
    }
    Ok(())
}

/// Where gcc has a library of its own.
fn library(name: &str) -> Option<String> {
    let found = answer_of("gcc", &[&format!("-print-file-name={name}")])?;
    // The bare name means that there is none.
    Some(found.trim().to_owned()).filter(|path| Path::new(path).is_absolute())
}
