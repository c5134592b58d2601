//! `cargo xtask free-threaded`: the Python tests in CPythons without a GIL, each of which is
//! built from the distribution's sources, once for each machine.

mod thread_sanitizer;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Context, Step};
use crate::contribute::develop::{EXAMPLE, TESTING};
use crate::copy_sources::copy_sources;
use crate::interpreter::Interpreter;
use crate::quality::load::PYTHON;
use crate::report::{Ending, missing};
use crate::run::{EXTENSION_MODULE, Stage, answer_of, cargo};
use crate::venv::{self, Packages};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// What `ctypes`, which the tests use, is built with.
const HEADER: &str = "/usr/include/x86_64-linux-gnu/ffi.h";

/// A CPython without a GIL, and what its modules and packages are.
struct Python {
    /// Its name in `DLPACK_REQUIRE`.
    tool: &'static str,
    /// The version, as `3.14`; the source package in Debian is `python3.14`.
    version: &'static str,
    /// The releases of Debian whose package lists name the sources, in the order in which
    /// they are tried. The sources come by apt, which checks who signed them.
    suites: &'static [&'static str],
    /// A version whose file the archive has, and its SHA-256, for the time in which no
    /// package list names a file that it has.
    unlisted: Option<(&'static str, &'static str)>,
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
    suites: &["trixie"],
    unlisted: None,
    sanitized: false,
    pyo3: Some("0.28.3"),
    packages: ["numpy==2.4.6", "pytest==9.2.0"],
    builds: &[VERSION],
};
const PYTHON_3_14: Python = Python {
    tool: "free-threaded-3.14",
    version: "3.14",
    suites: &["forky", "sid"],
    unlisted: Some(("3.14.7", "3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81")),
    sanitized: false,
    pyo3: None,
    packages: ["numpy==2.5.5", "pytest==9.2.0"],
    builds: &[VERSION],
};
const PYTHON_3_15: Python = Python {
    tool: "free-threaded-3.15",
    version: "3.15",
    suites: &["forky", "sid"],
    unlisted: Some((
        "3.15.0~rc2",
        "8d93af5eaaaea5adfd41bd786a7ba3f03f2ad1ab57c6a65e0b963deab91d5ad7",
    )),
    sanitized: false,
    pyo3: None,
    packages: ["numpy==2.5.5", "pytest==9.2.0"],
    builds: &[VERSION, ABI3T],
};
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
/// Marker file, written when the environment is complete.
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
    ("free-threaded, thread sanitizer", thread_sanitizer::step),
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

/// Runs the tests with each build of the modules.
fn run(python: &Python, context: &Context, stage: &mut Stage) -> Ending {
    let pip = &context.environment(stage)?.interpreter;
    let home = match home(python, pip, &context.checkout, stage) {
        Ok(home) => home,
        Err(reason) => return missing(python.tool, reason),
    };
    let executable = python.executable(&home);
    for (build, features) in python.builds {
        let place = context.checkout.target().join("free-threaded").join(python.version);
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
            .args(["-m", "pytest", "-ra", "--color=no", "-p", "no:cacheprovider"])
            .args(TESTS.map(|name| format!("tests/python/{name}.py")));
        stage.run(&mut tests)?;
    }
    Ok(())
}

/// The modules, where PyO3 is pinned of a copy of the sources.
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
        let mut compile = cargo(checkout);
        compile
            .current_dir(&sources)
            .env("PYO3_PYTHON", executable)
            .envs([EXTENSION_MODULE])
            .args(["rustc", "--release", "--lib", "--package", module.package])
            .args(["--features", features, "--target-dir"])
            .arg(place.join("target"));
        stage.run(&mut compile)?;
        let built = place.join("target/release").join(format!("lib{}.so", module.name));
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
    if answer_of("apt-get", &["--version"]).is_none() || !Path::new(KEYRING).exists() {
        return Err("the sources of Python come from Debian's archive, by apt-get".to_owned());
    }
    std::fs::create_dir_all(&cache)
        .map_err(|error| format!("{} cannot be made ({error})", cache.display()))?;
    let lock = venv::lock(&cache.join(format!("{folder}.lock")), stage)?;
    if !home.join(FINISHED).is_file() {
        let sources = home.join("sources");
        std::fs::create_dir_all(sources.join("lists/partial"))
            .map_err(|error| format!("{} cannot be made ({error})", sources.display()))?;
        headers(stage)?;
        if python.sanitized {
            thread_sanitizer::install(stage)?;
        }
        fetch(python, &sources, stage)?;
        build(python, &home, &sources, pip, stage)?;
        packages(python, &home, checkout, stage)?;
        // The sources and build files are not needed any more.
        drop(std::fs::remove_dir_all(&sources));
        std::fs::write(home.join(FINISHED), python.version)
            .map_err(|error| format!("{} cannot be written ({error})", home.display()))?;
    }
    drop(lock);
    Ok(home)
}

/// Installs what the build needs, where it is missing and the system lets us.
fn headers(stage: &mut Stage) -> Outcome {
    if Path::new(HEADER).exists() && answer_of("cc", &["--version"]).is_some() {
        return Ok(());
    }
    let by_hand =
        "a C compiler or libffi is missing (apt-get install build-essential libffi-dev)".to_owned();
    if answer_of("id", &["-u"]).is_none_or(|user| user.trim() != "0") {
        return Err(by_hand);
    }
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "--yes"]);
    apt.args(["--no-install-recommends", "build-essential", "libffi-dev"]);
    stage.run(&mut apt).map_err(|_| by_hand)
}

/// Fetches the source package through apt, from the mirror that this machine is configured
/// for.
fn fetch(python: &Python, sources: &Path, stage: &mut Stage) -> Outcome {
    let package = format!("python{}", python.version);
    let asked = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"];
    let archives = answer_of("apt-get", &asked).unwrap_or_default();
    let archive = archives
        .lines()
        .filter_map(|line| line.strip_prefix("Debian "))
        .find(|address| !address.contains("security"))
        .ok_or_else(|| "apt has no archive of Debian (run apt-get update)".to_owned())?;
    let list = sources.join("only.sources");
    // Uses separate package lists: the lists of the machine stay unchanged.
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.current_dir(sources)
            .arg(format!("-oDir::Etc::sourcelist={}", list.display()))
            .arg(format!("-oDir::State::lists={}", sources.join("lists").display()))
            .args(["-oDir::Etc::sourceparts=-", "-oDir::Cache::pkgcache="])
            .arg("-oDir::Cache::srcpkgcache=");
        apt
    };
    for suite in python.suites {
        let text = format!(
            "Types: deb-src\nURIs: {archive}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n"
        );
        std::fs::write(&list, text)
            .map_err(|error| format!("{} cannot be written ({error})", list.display()))?;
        let fetched = stage
            .run(apt().arg("update"))
            .and_then(|()| stage.run(apt().args(["source", "--download-only", &package])));
        if fetched.is_ok() {
            return Ok(());
        }
    }
    if fetch_unlisted(python, archive, sources, stage).is_ok() {
        return Ok(());
    }
    let suites = python.suites.join(" and ");
    Err(format!("apt-get does not fetch the sources of {package} of Debian {suites}"))
}

/// Fetches the file that no package list names. No signature covers it: the checksum is that
/// of the first download, so it shows only that the file has not changed since.
fn fetch_unlisted(python: &Python, archive: &str, sources: &Path, stage: &mut Stage) -> Outcome {
    let Some((version, checksum)) = python.unlisted else {
        return Err(format!("every file of {} is listed", python.version));
    };
    let package = format!("python{}", python.version);
    let file = format!("{package}_{version}.orig.tar.xz");
    let mut helper = Command::new("/usr/lib/apt/apt-helper");
    helper.arg("download-file");
    helper.arg(format!("{}/pool/main/p/{package}/{file}", archive.trim_end_matches('/')));
    helper.arg(sources.join(&file)).arg(format!("SHA256:{checksum}"));
    stage.run(&mut helper)
}

/// Unpacks, configures, builds and installs.
fn build(
    python: &Python,
    home: &Path,
    sources: &Path,
    unpacker: &Interpreter,
    stage: &mut Stage,
) -> Outcome {
    let unpack = "import glob, tarfile; [name] = glob.glob('*.orig.tar.xz'); \
                  tarfile.open(name).extractall('.', filter='tar'); \
                  [folder] = glob.glob('Python-*'); import os; os.rename(folder, 'python')";
    let tree = sources.join("python");
    if !tree.exists() {
        let mut command = Command::new(&unpacker.executable);
        stage.run(command.current_dir(sources).args(["-c", unpack]))?;
    }
    let mut configure = Command::new("./configure");
    configure.args(["--quiet", "--disable-gil", "--without-ensurepip", "--disable-test-modules"]);
    configure.arg(format!("--prefix={}", home.display()));
    if python.sanitized {
        configure.args(thread_sanitizer::CONFIGURE);
    }
    stage.run(configure.current_dir(&tree))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = Command::new("make");
    stage.run(make.current_dir(&tree).args(["--quiet", &format!("--jobs={jobs}")]))?;
    let mut install = Command::new("make");
    stage.run(install.current_dir(&tree).args(["--quiet", "altinstall"]))?;
    if python.sanitized { thread_sanitizer::keep_suppressions(&tree, home) } else { Ok(()) }
}

/// Fetches packages with the pip of the environment, for this interpreter.
fn packages(python: &Python, home: &Path, checkout: &Checkout, stage: &mut Stage) -> Outcome {
    let version = python.version;
    let mut pip = Command::new(checkout.venv().join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
        .args(["--disable-pip-version-check", "--only-binary=:all:"])
        .arg(format!("--python-version={version}"))
        .arg(format!("--abi=cp{}t", version.replace('.', "")))
        // pip compares with its own version of Python otherwise.
        .arg("--ignore-requires-python")
        .args(["--implementation=cp", "--target"])
        .arg(home.join("packages"))
        .args(python.packages);
    stage.run(&mut pip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_environments() {
        let base = include_str!("../../../requirements/base.txt");
        let newest = include_str!("../../../requirements/newest.txt");
        let all = [(PYTHON_3_13, base), (PYTHON_3_14, newest), (PYTHON_3_15, newest)];
        for (python, pins) in all.into_iter().chain([(thread_sanitizer::PYTHON, newest)]) {
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
        for python in [PYTHON_3_13, PYTHON_3_14, PYTHON_3_15, thread_sanitizer::PYTHON] {
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
