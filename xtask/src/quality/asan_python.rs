//! The extension module under AddressSanitizer, in an interpreter that is not.

use std::path::Path;
use std::process::Command;

use crate::context::Context;
use crate::quality::nightly::{NO_ASM, PLATFORM, TOOLCHAIN, nightly};
use crate::report::{Ending, missing};
use crate::run::{EXTENSION_MODULE, Stage, answer_of, cargo_of};

/// Tests of code that reads foreign memory, and of threads.
const TESTS: [&str; 6] = [
    "tests/python/test_capsules.py",
    "tests/python/test_exchange_table.py",
    "tests/python/test_hostile_tables.py",
    "tests/python/test_import_capsules.py",
    "tests/python/test_import_tables.py",
    "tests/python/test_threads.py",
];

/// Allocations that exceed the memory must fail instead of aborting the process.
const OPTIONS: &str = "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1";

/// Detects accesses outside of allocations and after their end. Leak detection is off: the
/// interpreter leaks on its own, and valgrind has suppressions for those leaks.
pub(crate) fn cpython(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = nightly() {
        return missing("asan", reason);
    }
    let [Some(runtime), Some(cpp)] = ["libasan.so", "libstdc++.so"].map(library) else {
        return missing("asan", "gcc has no libasan or no libstdc++ (install g++)".to_owned());
    };
    let checkout = &context.checkout;
    let environment = context.environment(stage)?;
    let target = checkout.target().join("sanitize");
    let folder = target.join("python");
    for package in ["dlpack-testing", "dlpack-example"] {
        let mut compile = cargo_of(checkout, TOOLCHAIN);
        compile
            .env("RUSTFLAGS", format!("-Zsanitizer=address {NO_ASM}"))
            .env("PYO3_PYTHON", &environment.interpreter.executable)
            .envs([EXTENSION_MODULE])
            .env("CARGO_INCREMENTAL", "0")
            .args(["rustc", "--lib", "--target", PLATFORM, "--package", package, "--target-dir"])
            .arg(&target);
        stage.run(&mut compile)?;
        let name = package.replace('-', "_");
        let built = target.join(PLATFORM).join(format!("debug/lib{name}.so"));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::copy(&built, folder.join(format!("{name}.so"))))
            .map_err(|error| format!("{} cannot be copied ({error}).", built.display()))?;
    }
    let sanitized = |mut python: Command| {
        python
            .env("LD_PRELOAD", format!("{runtime} {cpp}"))
            .env("ASAN_OPTIONS", OPTIONS)
            .env("DLPACK_SANITIZED", "1")
            .env("PYTHONMALLOC", "malloc");
        python
    };
    let mut rounds = sanitized(environment.python(checkout));
    stage.run(rounds.arg("tests/python/rounds_under_valgrind.py").arg(&folder))?;
    let mut tests = sanitized(environment.python(checkout));
    tests
        .env("DLPACK_PYTHON_MODULES", &folder)
        .env("DLPACK_REQUIRE", "numpy,tvm_ffi")
        .args(["-m", "pytest", "-ra", "--color=no", "--capture=sys"])
        .args(TESTS);
    Ok(stage.run(&mut tests)?)
}

/// Where gcc has a library of its own.
fn library(name: &str) -> Option<String> {
    let found = answer_of("gcc", &[&format!("-print-file-name={name}")])?;
    // The bare name means that there is none.
    Some(found.trim().to_owned()).filter(|path| Path::new(path).is_absolute())
}
