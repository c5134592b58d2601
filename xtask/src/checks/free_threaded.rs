//! `cargo xtask free-threaded`: the Python tests and wheels in CPythons without a GIL, each of which
//! `quality/free-threaded.sh` builds from the distribution's sources, once for each machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::python::pin_pyo3;
use super::{sanitizers, wheels};
use crate::checkout::{copy_sources, root, target, write};
use crate::command::{Words as _, cargo};
use crate::context::Context;
use crate::environment::made_once;
use crate::modules::{Build, EXAMPLE, Profile, TESTING};
use crate::outcome::{Ending, missing};
use crate::tools;

/// A CPython without a GIL, and what its modules and packages are.
pub(crate) struct Python {
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

/// A build for one version of Python.
const VERSION: (&str, &str) = ("version", "");
/// A build for the stable ABI of PEP 803, which PyO3 supports from 3.15 on.
const ABI3T: (&str, &str) = ("abi3t", "pyo3/abi3t-py315");

pub(crate) const PYTHON_3_14: Python = Python {
    tool: "free-threaded-3.14",
    version: "3.14",
    sanitized: false,
    pyo3: None,
    packages: ["numpy==2.5.5", "pytest==9.2.0"],
    builds: &[VERSION],
};
/// PyO3 0.28 is the last series that supports a free-threaded 3.13; the next one requires
/// 3.14.
pub(crate) const PYTHON_3_13: Python = Python {
    tool: "free-threaded",
    version: "3.13",
    pyo3: Some("0.28.3"),
    packages: ["numpy==2.4.6", "pytest==9.2.0"],
    ..PYTHON_3_14
};
pub(crate) const PYTHON_3_15: Python = Python {
    tool: "free-threaded-3.15",
    version: "3.15",
    builds: &[VERSION, ABI3T],
    ..PYTHON_3_14
};
/// CPython 3.14, built with ThreadSanitizer.
const SANITIZED: Python = Python { tool: "free-threaded-tsan", sanitized: true, ..PYTHON_3_14 };
/// The modules that are checked for the ABIs without a GIL; no interpreter is needed.
const CHECKED: &str = "--package=dlpack-example --package=dlpack-testing \
    --package=dlpack-conformance --package=dlpack-doctor-python";
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
/// Increase this when the steps that make an environment change.
const RECIPE: &str = "3";
/// Imports a module, and requires that the import did not enable the GIL.
const NO_GIL: &str =
    "import importlib, sys; importlib.import_module(sys.argv[1]); assert not sys._is_gil_enabled()";

/// Compiles the modules for each ABI without a GIL that the PyO3 of the lock file supports.
pub(crate) fn builds(context: &Context) -> Ending {
    for (version, (build, features)) in [("3.14", VERSION), ("3.15", VERSION), ("3.15", ABI3T)] {
        let config = target("free-threaded/builds").join(format!("{version}-{build}"));
        // An interpreter without a GIL, described to PyO3.
        let text = "implementation=CPython\nshared=true\nbuild_flags=Py_GIL_DISABLED\n";
        write(&config, format!("{text}version={version}\n"))?;
        let mut check = cargo(&format!("check --lib --features={features} {CHECKED}"));
        check.env_remove("PYO3_PYTHON").env("PYO3_CONFIG_FILE", &config);
        context.run(check.builds_in("free-threaded/builds/target"))?;
        context.note(format!("CPython {version}, {build}: compiles"));
    }
    Ok(())
}

/// Runs the tests with threads in a CPython where ThreadSanitizer sees each access of the
/// interpreter, of the modules and of the standard library of Rust. Each data race makes Python exit
/// with an error.
pub(crate) fn thread_sanitizer(context: &Context) -> Ending {
    sanitizers::nightly(SANITIZED.tool)?;
    tools::miri(context, SANITIZED.tool)?;
    run(context, &SANITIZED)
}

/// Runs the tests with each build of the modules.
pub(crate) fn run(context: &Context, python: &Python) -> Ending {
    let (home, executable) = interpreter(context, python)?;
    for (name, features) in python.builds {
        let folder = if python.sanitized { "thread-sanitizer" } else { python.version };
        let place = target("free-threaded").join(folder).join(name);
        let profile =
            if python.sanitized { Profile::Sanitized("thread") } else { Profile::Release };
        let mut build = Build { features, ..Build::below(&place, &executable, profile) };
        if let Some(version) = python.pyo3 {
            build.sources = place.join("src");
            copy_sources(root(), &build.sources)?;
            pin_pyo3(context, &build.sources, version)?;
        }
        build.run(context, &[EXAMPLE, TESTING])?;
        let mut tests = python_of(&executable, &build.modules, &home);
        tests.words("-m pytest -ra --color=no -p no:cacheprovider DLPACK_REQUIRE=numpy");
        tests.current_dir(root()).env("DLPACK_PYTHON_MODULES", &build.modules);
        if python.sanitized {
            let options = format!(
                "suppressions={} external_symbolizer_path=/usr/bin/llvm-symbolizer-19 \
                 report_thread_leaks=0 handle_segv=0 allocator_may_return_null=1",
                home.join("suppressions.txt").display()
            );
            tests.env("DLPACK_SANITIZED", "1").env("TSAN_OPTIONS", options);
            // A report is written to the file descriptor, which pytest would capture.
            tests.args(["--capture=sys", "tests/python/thread_sanitizer.py"]);
        }
        context.run(tests.args(TESTS.map(|name| format!("tests/python/{name}.py"))))?;
    }
    Ok(())
}

/// The interpreter with modules and packages. Without a value of `PYTHON_GIL` the interpreter enables
/// the GIL if a module does not declare that it runs without one, and a test fails then.
fn python_of(executable: &Path, modules: &Path, home: &Path) -> Command {
    let mut command = Command::new(executable);
    let path = format!("{}:{}", modules.display(), home.join("packages").display());
    command.env_remove("PYTHON_GIL").env("PYTHONPATH", path);
    command
}

/// The folder of an interpreter and its packages, and the interpreter; a script makes them where they
/// are not.
fn interpreter(context: &Context, python: &Python) -> Ending<(PathBuf, PathBuf)> {
    let pip = &context.environment()?.interpreter.executable;
    let sanitizer = if python.sanitized { "-tsan" } else { "" };
    let name = format!("free-threaded-{}{sanitizer}-{RECIPE}", python.version);
    let home = made_once(context, &name, "finished", |home| {
        let mut build = Command::new(root().join("quality/free-threaded.sh"));
        build.arg(python.version).arg(home).arg(pip);
        context.run(build.arg(if python.sanitized { "yes" } else { "no" }).args(python.packages))
    });
    match home {
        Ok(home) => Ok((home.clone(), home.join(format!("bin/python{}t", python.version)))),
        Err(error) => {
            // The last line that the script prints says what is missing.
            let log = context.logged();
            missing(python.tool, format!("{} ({error})", log.lines().last().unwrap_or_default()))
        }
    }
}

/// Builds the wheels of the tools and of a project that was made from the template for the versions
/// that PyO3 of the lock file supports, and uses them in an interpreter that has NumPy and pytest, and
/// no other package.
pub(crate) fn wheels(context: &Context) -> Ending {
    let place = target("free-threaded/wheels");
    let mut projects: Vec<(PathBuf, &str, Vec<&str>, &str)> = Vec::new();
    for wheels::Tool { folder, module } in wheels::tools() {
        let program = if folder.join("tests/smoke.py").is_file() {
            vec!["tests/smoke.py"]
        } else {
            vec!["-m", module, "numpy:from_dlpack", "--only", "shape [-1]"]
        };
        projects.push((folder, module, program, "--locked"));
    }
    let project = place.join("my-tensors");
    let module = wheels::make_template_project(&project)?;
    let program = vec!["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"];
    projects.push((project, module, program, ""));
    for python in [&PYTHON_3_14, &PYTHON_3_15] {
        let (home, executable) = interpreter(context, python)?;
        for (name, features) in python.builds {
            let place = place.join(python.version).join(name);
            let modules = place.join("python");
            for (folder, module, program, options) in &projects {
                let has_features = if features.is_empty() { "" } else { "--features" };
                let options = format!("{options} {has_features} {features}");
                let paths = [folder, &place.join(module), &target("free-threaded/wheels/target")];
                let wheel = wheels::build_wheel(context, &executable, paths, &options)?;
                let unpacking = &context.environment()?.interpreter.executable;
                wheels::unpack(context, unpacking, &wheel, &modules, module)?;
                let python = || {
                    let mut command = python_of(&executable, &modules, &home);
                    command.current_dir(folder);
                    command
                };
                context.run(python().args(["-c", NO_GIL, module]))?;
                context.run(python().args(program))?;
                let name = wheel.file_name().unwrap_or_default().to_string_lossy();
                context.note(format!("{name}: installs and works"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::read;

    #[test]
    fn packages_are_pinned_and_interpreters_required() {
        let pins = ["base", "newest"].map(|file| {
            read(&root().join(format!("requirements/{file}.txt"))).expect("requirements")
        });
        let scheduled = read(&root().join(".ci/scheduled")).expect(".ci/scheduled");
        for python in [PYTHON_3_13, PYTHON_3_14, PYTHON_3_15, SANITIZED] {
            let pins = &pins[usize::from(python.version != "3.13")];
            for pin in python.packages {
                assert!(pins.lines().any(|line| line == pin), "{}: {pin}", python.version);
            }
            let mut required = scheduled.split([',', '\n']);
            assert!(required.any(|tool| tool == python.tool), "{}", python.tool);
        }
    }
}
