//! The tests with threads in a CPython 3.14 without a GIL, where ThreadSanitizer sees each access
//! of the interpreter, of the modules and of the standard library of Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PYTHON_3_14, Python, TESTS, VERSION, home};
use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::contribute::develop::{EXAMPLE, TESTING};
use crate::quality::miri;
use crate::quality::nightly::{NO_ASM, PLATFORM, TOOLCHAIN, nightly};
use crate::report::{Ending, missing};
use crate::run::{EXTENSION_MODULE, Stage, answer_of, cargo_of};

/// The compiler of the interpreter: LLVM's ThreadSanitizer is the one of rustc too.
const COMPILER: &str = "clang-19";
/// Gives a report the names by which suppressions are found.
const SYMBOLIZER: &str = "/usr/bin/llvm-symbolizer-19";
/// The Debian packages of both and of the sanitizer's runtime.
const DEBIAN_PACKAGES: [&str; 3] = [COMPILER, "llvm-19", "libclang-rt-19-dev"];
/// What CPython's own `configure` is told.
pub(super) const CONFIGURE: [&str; 2] = ["CC=clang-19", "--with-thread-sanitizer"];
/// Races of CPython that its developers know: a file of its sources.
const KNOWN_RACES: &str = "Tools/tsan/suppressions_free_threading.txt";
/// Races of CPython that are not in that file: a thread may call the function while Python ends,
/// and CPython 3.14 reads a plain `int` in it.
const MORE_RACES: &str = "race_top:Py_IsInitialized\n";
/// The file of both in the folder of the interpreter.
const SUPPRESSIONS: &str = "suppressions.txt";

/// CPython 3.14, built with the sanitizer.
pub(super) const PYTHON: Python =
    Python { tool: "free-threaded-tsan", sanitized: true, builds: &[VERSION], ..PYTHON_3_14 };

/// Builds what is not built, and runs the tests. Each data race makes Python exit with an error.
pub(super) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = nightly().and_then(|()| miri::install(stage)) {
        return missing(PYTHON.tool, reason);
    }
    let checkout = &context.checkout;
    let pip = &context.environment(stage)?.interpreter;
    let home = match home(&PYTHON, pip, checkout, stage) {
        Ok(home) => home,
        Err(reason) => return missing(PYTHON.tool, reason),
    };
    let executable = PYTHON.executable(&home);
    let modules = modules(checkout, &executable, stage)?;
    let options = format!(
        "suppressions={} external_symbolizer_path={SYMBOLIZER} report_thread_leaks=0 \
         handle_segv=0 allocator_may_return_null=1",
        home.join(SUPPRESSIONS).display()
    );
    let mut tests = Command::new(&executable);
    tests
        .current_dir(checkout.root())
        .env_remove("PYTHON_GIL")
        .env("PYTHONPATH", format!("{}:{}", modules.display(), home.join("packages").display()))
        .env("DLPACK_PYTHON_MODULES", &modules)
        .env("DLPACK_REQUIRE", "numpy")
        .env("DLPACK_SANITIZED", "1")
        .env("TSAN_OPTIONS", options)
        // A report is written to the file descriptor, which pytest would capture.
        .args(["-m", "pytest", "-ra", "--color=no", "-p", "no:cacheprovider", "--capture=sys"])
        .arg("tests/python/thread_sanitizer.py")
        .args(TESTS.map(|name| format!("tests/python/{name}.py")));
    Ok(stage.run(&mut tests)?)
}

/// Installs the compiler where it is missing and the system lets us.
pub(super) fn install(stage: &mut Stage) -> Outcome {
    let present =
        || answer_of(COMPILER, &["--version"]).is_some() && Path::new(SYMBOLIZER).exists();
    if present() {
        return Ok(());
    }
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "--yes"]);
    apt.arg("--no-install-recommends").args(DEBIAN_PACKAGES);
    if stage.run(&mut apt).is_ok() && present() {
        return Ok(());
    }
    Err(format!("{COMPILER} cannot be installed (apt-get install {})", DEBIAN_PACKAGES.join(" ")))
}

/// Copies the suppressions of CPython, whose sources are removed after the build.
pub(super) fn keep_suppressions(tree: &Path, home: &Path) -> Outcome {
    let known = tree.join(KNOWN_RACES);
    std::fs::read_to_string(&known)
        .and_then(|text| std::fs::write(home.join(SUPPRESSIONS), format!("{text}\n{MORE_RACES}")))
        .map_err(|error| format!("{} cannot be copied ({error})", known.display()))
}

/// The modules, with the standard library of Rust built by the same options: without it the
/// sanitizer would not see what synchronizes threads there.
fn modules(checkout: &Checkout, executable: &Path, stage: &mut Stage) -> Outcome<PathBuf> {
    let place = checkout.target().join("free-threaded/thread-sanitizer");
    let modules = place.join("python");
    let unwritable = |error| format!("{} cannot be written ({error}).", modules.display());
    std::fs::create_dir_all(&modules).map_err(unwritable)?;
    for module in [EXAMPLE, TESTING] {
        let mut compile = cargo_of(checkout, TOOLCHAIN);
        compile
            .env("RUSTFLAGS", format!("-Zsanitizer=thread {NO_ASM}"))
            .env("CARGO_INCREMENTAL", "0")
            .env("PYO3_PYTHON", executable)
            .envs([EXTENSION_MODULE])
            .args(["rustc", "--lib", "-Zbuild-std", "--target", PLATFORM])
            .args(["--package", module.package, "--target-dir"])
            .arg(place.join("target"));
        stage.run(&mut compile)?;
        let built = place.join("target").join(PLATFORM);
        let built = built.join(format!("debug/lib{}.so", module.name));
        std::fs::copy(built, modules.join(format!("{}.so", module.name))).map_err(unwritable)?;
    }
    Ok(modules)
}
