//! `cargo xtask free-threaded`: the Python tests in CPythons without a GIL, each of which
//! `quality/free-threaded.sh` builds from the distribution's sources, once for each machine.

mod wheels;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Context, Step};
use crate::contribute::develop::{EXAMPLE, TESTING};
use crate::copy_sources::copy_sources;
use crate::interpreter::Interpreter;
use crate::quality::load::PYTHON;
use crate::quality::miri;
use crate::quality::nightly::{NO_ASM, PLATFORM, TOOLCHAIN, nightly};
use crate::report::{Ending, missing};
use crate::run::{EXTENSION_MODULE, Stage, cargo, cargo_of};
use crate::venv::{self, Packages};

/// Builds an interpreter, where it is not made yet.
const SCRIPT: &str = "quality/free-threaded.sh";

/// A CPython without a GIL, and what its modules and packages are.
struct Python {
    /// Its name in `DLPACK_REQUIRE`.
    tool: &'static str,
    /// The version, as `3.14`.
    version: &'static str,
    /// Whether ThreadSanitizer checks the interpreter and the modules.
    sanitized: bool,
    /// The version of PyO3, where it is not that of the lock file.
    pyo3: Option<&'static str>,
    /// The packages that the tests import, each built for this interpreter or for any.
    packages: [&'static str; 2],
    /// The builds of the modules: the name of each, and its features.
    builds: &'static [(&'static str, &'static str)],
}

impl Python {
    /// The folder in the cache.
    fn folder(&self) -> String {
        let sanitizer = if self.sanitized { "-tsan" } else { "" };
        format!("free-threaded-{}{sanitizer}-{RECIPE}", self.version)
    }

    /// The interpreter in the folder where it was installed.
    fn executable(&self, home: &Path) -> PathBuf {
        home.join(format!("bin/python{}t", self.version))
    }
}

/// A build for one version of Python.
const VERSION: (&str, &str) = ("version", "");
/// A build for the stable ABI of PEP 803, which PyO3 supports from 3.15 on.
const ABI3T: (&str, &str) = ("abi3t", "pyo3/abi3t-py315");

/// PyO3 0.28 is the last series that supports a free-threaded 3.13; the next one requires
/// 3.14.
const PYTHON_3_13: Python = Python {
    tool: "free-threaded",
    version: "3.13",
    sanitized: false,
    pyo3: Some("0.28.3"),
    packages: ["numpy==2.4.6", "pytest==9.2.0"],
    builds: &[VERSION],
};
const PYTHON_3_14: Python = Python {
    tool: "free-threaded-3.14",
    version: "3.14",
    sanitized: false,
    pyo3: None,
    packages: ["numpy==2.5.5", "pytest==9.2.0"],
    builds: &[VERSION],
};
const PYTHON_3_15: Python = Python {
    tool: "free-threaded-3.15",
    version: "3.15",
    sanitized: false,
    pyo3: None,
    packages: ["numpy==2.5.5", "pytest==9.2.0"],
    builds: &[VERSION, ABI3T],
};
/// CPython 3.14, built with ThreadSanitizer.
const SANITIZED: Python =
    Python { tool: "free-threaded-tsan", sanitized: true, builds: &[VERSION], ..PYTHON_3_14 };
/// Gives a report the names by which suppressions are found.
const SYMBOLIZER: &str = "/usr/bin/llvm-symbolizer-19";
/// The modules that are checked for the ABIs without a GIL; no interpreter is needed.
const CHECKED: [&str; 4] =
    ["dlpack-example", "dlpack-testing", "dlpack-conformance", "dlpack-doctor-python"];

/// The test files that are run: they use threads, or test state that threads share.
const TESTS: [&str; 21] = [
    "free_threaded",
    "test_array_like",
    "test_array_methods",
    "test_buffers",
    "test_capsules",
    "test_classes",
    "test_errors",
    "test_exchange_table",
    "test_exit",
    "test_fork",
    "test_import_capsules",
    "test_import_class_method",
    "test_import_no_tensor",
    "test_import_protocol",
    "test_import_releases",
    "test_import_tables",
    "test_kernels",
    "test_lifetime",
    "test_pending",
    "test_protocol",
    "test_threads",
];
/// Marker file, which the script writes when the environment is complete.
const FINISHED: &str = "finished";
/// Increase this when the steps that make an environment change.
const RECIPE: &str = "3";

/// The steps, without the environment that they need.
pub(crate) const STEPS: &[Step] = &[
    ("free-threaded builds", builds),
    ("free-threaded python 3.13", |context, stage| run(&PYTHON_3_13, context, stage)),
    ("free-threaded python 3.14", |context, stage| run(&PYTHON_3_14, context, stage)),
    ("free-threaded python 3.15", |context, stage| run(&PYTHON_3_15, context, stage)),
    ("free-threaded wheels", wheels::step),
    ("free-threaded, thread sanitizer", thread_sanitizer),
];

/// Builds what is not built, and runs the tests.
pub(crate) fn free_threaded(checkout: Checkout, step: Option<&str>) -> Outcome<ExitCode> {
    context::run(checkout, &[&PYTHON[..1], &context::named(STEPS, step)?].concat(), Packages::Base)
}

/// Compiles the modules for each ABI without a GIL that the PyO3 of the lock file supports.
fn builds(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let place = checkout.target().join("free-threaded/builds");
    let unwritable = |error| format!("{} cannot be written ({error}).", place.display());
    std::fs::create_dir_all(&place).map_err(unwritable)?;
    for (python, (build, features)) in
        [(&PYTHON_3_14, VERSION), (&PYTHON_3_15, VERSION), (&PYTHON_3_15, ABI3T)]
    {
        let version = python.version;
        let config = place.join(format!("{version}-{build}"));
        // An interpreter without a GIL, described to PyO3.
        let text = format!(
            "implementation=CPython\nversion={version}\nshared=true\nbuild_flags=Py_GIL_DISABLED\n"
        );
        std::fs::write(&config, text).map_err(unwritable)?;
        let mut check = cargo(checkout);
        check
            .env("PYO3_CONFIG_FILE", &config)
            .args(["check", "--lib", "--features", features, "--target-dir"])
            .arg(place.join("target"))
            .args(CHECKED.iter().flat_map(|package| ["--package", *package]));
        stage.run(&mut check)?;
        stage.note(&format!("CPython {version}, {build}: compiles"));
    }
    Ok(())
}

/// Runs the tests with threads in a CPython where ThreadSanitizer sees each access of the
/// interpreter, of the modules and of the standard library of Rust. Each data race makes Python exit
/// with an error.
fn thread_sanitizer(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = nightly().and_then(|()| miri::install(stage)) {
        return missing(SANITIZED.tool, reason);
    }
    run(&SANITIZED, context, stage)
}

/// Runs the tests with each build of the modules.
fn run(python: &Python, context: &Context, stage: &mut Stage) -> Ending {
    let pip = &context.environment(stage)?.interpreter;
    let home = match home(python, pip, &context.checkout, stage) {
        Ok(home) => home,
        Err(reason) => return missing(python.tool, reason),
    };
    let executable = python.executable(&home);
    for (build, features) in python.builds {
        let folder = if python.sanitized { "thread-sanitizer" } else { python.version };
        let place = context.checkout.target().join("free-threaded").join(folder);
        let modules =
            modules(python, features, &context.checkout, &executable, &place.join(build), stage)?;
        let mut tests = Command::new(&executable);
        tests
            .current_dir(context.checkout.root())
            // Without a value the interpreter enables the GIL if a module does not declare
            // that it runs without one, and a test fails then.
            .env_remove("PYTHON_GIL")
            .env("PYTHONPATH", format!("{}:{}", modules.display(), home.join("packages").display()))
            .env("DLPACK_PYTHON_MODULES", &modules)
            .env("DLPACK_REQUIRE", "numpy")
            .args(["-m", "pytest", "-ra", "--color=no", "-p", "no:cacheprovider"]);
        if python.sanitized {
            let options = format!(
                "suppressions={} external_symbolizer_path={SYMBOLIZER} report_thread_leaks=0 \
                 handle_segv=0 allocator_may_return_null=1",
                home.join("suppressions.txt").display()
            );
            tests.env("DLPACK_SANITIZED", "1").env("TSAN_OPTIONS", options);
            // A report is written to the file descriptor, which pytest would capture.
            tests.args(["--capture=sys", "tests/python/thread_sanitizer.py"]);
        }
        tests.args(TESTS.map(|name| format!("tests/python/{name}.py")));
        stage.run(&mut tests)?;
    }
    Ok(())
}

/// The modules, where PyO3 is pinned of a copy of the sources. Under ThreadSanitizer the standard
/// library of Rust is built by the same options: without it the sanitizer would not see what
/// synchronizes threads there.
fn modules(
    python: &Python,
    features: &str,
    checkout: &Checkout,
    executable: &Path,
    place: &Path,
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    let modules = place.join("python");
    let mut sources = checkout.root().to_path_buf();
    if let Some(version) = python.pyo3 {
        sources = place.join("src");
        copy_sources(checkout.root(), &sources, stage)?;
        let mut update = cargo(checkout);
        update.current_dir(&sources).args(["update", "--package", "pyo3", "--precise", version]);
        stage.run(&mut update)?;
    }
    let unwritable = |error| format!("{} cannot be written ({error}).", modules.display());
    std::fs::create_dir_all(&modules).map_err(unwritable)?;
    for module in [EXAMPLE, TESTING] {
        let (mut compile, built) = if python.sanitized {
            let mut compile = cargo_of(checkout, TOOLCHAIN);
            compile.env("RUSTFLAGS", format!("-Zsanitizer=thread {NO_ASM}"));
            compile.env("CARGO_INCREMENTAL", "0");
            compile.args(["rustc", "-Zbuild-std", "--target", PLATFORM]);
            (compile, format!("target/{PLATFORM}/debug"))
        } else {
            let mut compile = cargo(checkout);
            compile.args(["rustc", "--release"]);
            (compile, "target/release".to_owned())
        };
        compile
            .current_dir(&sources)
            .env("PYO3_PYTHON", executable)
            .envs([EXTENSION_MODULE])
            .args(["--lib", "--package", module.package])
            .args(["--features", features, "--target-dir"])
            .arg(place.join("target"));
        stage.run(&mut compile)?;
        let built = place.join(built).join(format!("lib{}.so", module.name));
        std::fs::copy(built, modules.join(format!("{}.so", module.name))).map_err(unwritable)?;
    }
    Ok(modules)
}

/// Where the interpreter and its packages are; makes them where they are not.
fn home(
    python: &Python,
    pip: &Interpreter,
    checkout: &Checkout,
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    let cache = venv::cache_folder(checkout, stage);
    let folder = python.folder();
    let home = cache.join(&folder);
    if home.join(FINISHED).is_file() {
        stage.note("made before");
        return Ok(home);
    }
    std::fs::create_dir_all(&cache)
        .map_err(|error| format!("{} cannot be made ({error})", cache.display()))?;
    let lock = venv::lock(&cache.join(format!("{folder}.lock")), stage)?;
    if !home.join(FINISHED).is_file() {
        let mut build = Command::new(checkout.root().join(SCRIPT));
        build.arg(python.version).arg(&home).arg(&pip.executable);
        build.arg(if python.sanitized { "yes" } else { "no" }).args(python.packages);
        stage.run(&mut build)?;
    }
    drop(lock);
    Ok(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_environments() {
        let base = include_str!("../../../requirements/base.txt");
        let newest = include_str!("../../../requirements/newest.txt");
        let all = [(PYTHON_3_13, base), (PYTHON_3_14, newest), (PYTHON_3_15, newest)];
        for (python, pins) in all.into_iter().chain([(SANITIZED, newest)]) {
            for pin in python.packages {
                assert!(pins.lines().any(|line| line == pin), "{}: {pin}", python.version);
            }
        }
    }

    #[test]
    fn scheduled_run_requires_each_interpreter() {
        let scheduled = include_str!("../../../.ci/scheduled");
        let required: Vec<&str> = scheduled
            .lines()
            .filter_map(|line| line.strip_prefix("tools="))
            .flat_map(|tools| tools.split(','))
            .collect();
        for python in [PYTHON_3_13, PYTHON_3_14, PYTHON_3_15, SANITIZED] {
            assert!(required.contains(&python.tool), "{}: {required:?}", python.tool);
        }
    }

    #[test]
    fn pinned_pyo3_is_one_that_is_checked() {
        let checked = include_str!("../contribute/pyo3_range.rs");
        let pin = PYTHON_3_13.pyo3.expect("3.13 needs an older PyO3");
        assert!(checked.contains(&format!("\"{pin}\"")));
        assert_eq!([PYTHON_3_14.pyo3, PYTHON_3_15.pyo3], [None, None]);
    }
}
