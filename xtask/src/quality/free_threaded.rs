//! `cargo xtask free-threaded`: the Python tests in a CPython without a GIL, which is
//! built from the distribution's sources, once for each machine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::Outcome;
use crate::checkout::Checkout;
use crate::contribute::develop::{EXAMPLE, TESTING};
use crate::contribute::test::{self, Body, Context};
use crate::copy_sources::copy_sources;
use crate::interpreter::Interpreter;
use crate::quality::load::PYTHON;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo};
use crate::venv::{self, Packages};

/// The release of Debian that has the sources, and what they are called there. They
/// come by apt, which checks who signed them.
const SUITE: &str = "trixie";
const SOURCE: &str = "python3.13";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// What `ctypes`, which the tests use, is built with.
const HEADER: &str = "/usr/include/x86_64-linux-gnu/ffi.h";
/// The last PyO3 that supports a free-threaded 3.13; the next one requires 3.14.
const PYO3: &str = "0.28.3";
/// The packages that the tests import, each built for this interpreter or for any.
const PACKAGES: [&str; 2] = ["numpy==2.4.6", "pytest==9.2.0"];
/// The test files that are run: they use threads, or test state that threads share.
const TESTS: [&str; 17] = [
    "free_threaded",
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
    "test_protocol",
    "test_threads",
];
/// Marker file, written when the environment is complete.
const FINISHED: &str = "finished";
/// Increase this when the steps that make the environment change.
const FOLDER: &str = "free-threaded-1";

/// The step, without the environment that it needs.
pub(crate) const STEPS: &[(&str, Body)] = &[("free-threaded python", step)];

/// Builds what is not built, and runs the tests.
pub(crate) fn free_threaded(checkout: Checkout) -> Outcome<ExitCode> {
    test::run(checkout, &[&PYTHON[..1], STEPS].concat(), Packages::Base)
}

fn step(context: &Context, stage: &mut Stage) -> Ending {
    let pip = &context.environment(stage)?.interpreter;
    let home = match home(pip, &context.checkout, stage) {
        Ok(home) => home,
        Err(reason) => return missing("free-threaded", reason),
    };
    let python = home.join("bin/python3.13t");
    let place = context.checkout.target().join("free-threaded");
    let modules = modules(&context.checkout, &python, &place, stage)?;
    let mut tests = Command::new(python);
    tests
        .current_dir(context.checkout.root())
        // The extension modules do not declare that they run without the GIL, which is
        // their authors' decision; this variable keeps the GIL disabled.
        .env("PYTHON_GIL", "0")
        .env("PYTHONPATH", format!("{}:{}", modules.display(), home.join("packages").display()))
        .env("DLPACK_PYTHON_MODULES", &modules)
        .env("DLPACK_REQUIRE", "numpy")
        .args(["-m", "pytest", "-ra", "--color=no", "-p", "no:cacheprovider"])
        .args(TESTS.map(|name| format!("tests/python/{name}.py")));
    Ok(stage.run(&mut tests)?)
}

/// The modules, of a copy of the sources with the last PyO3 that can build them.
fn modules(
    checkout: &Checkout,
    python: &Path,
    place: &Path,
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    let (sources, modules) = (place.join("src"), place.join("python"));
    copy_sources(checkout.root(), &sources, stage)?;
    let mut update = cargo(checkout);
    update.current_dir(&sources).args(["update", "--package", "pyo3", "--precise", PYO3]);
    stage.run(&mut update)?;
    let unwritable = |error| format!("{} cannot be written ({error}).", modules.display());
    std::fs::create_dir_all(&modules).map_err(unwritable)?;
    for module in [EXAMPLE, TESTING] {
        let mut compile = cargo(checkout);
        compile
            .current_dir(&sources)
            .env("PYO3_PYTHON", python)
            .args(["rustc", "--release", "--lib", "--package", module.package, "--target-dir"])
            .arg(place.join("target"));
        stage.run(&mut compile)?;
        let built = place.join("target/release").join(format!("lib{}.so", module.name));
        std::fs::copy(built, modules.join(format!("{}.so", module.name))).map_err(unwritable)?;
    }
    Ok(modules)
}

/// Where the interpreter and its packages are; makes them where they are not.
fn home(pip: &Interpreter, checkout: &Checkout, stage: &mut Stage) -> Outcome<PathBuf> {
    let cache = venv::cache_folder(checkout, stage);
    let home = cache.join(FOLDER);
    if home.join(FINISHED).is_file() {
        stage.note("made before");
        return Ok(home);
    }
    if answer_of("apt-get", &["--version"]).is_none() || !Path::new(KEYRING).exists() {
        return Err("the sources of Python come from Debian's archive, by apt-get".to_owned());
    }
    std::fs::create_dir_all(&cache)
        .map_err(|error| format!("{} cannot be made ({error})", cache.display()))?;
    let lock = venv::lock(&cache.join(format!("{FOLDER}.lock")), stage)?;
    if !home.join(FINISHED).is_file() {
        let sources = home.join("sources");
        std::fs::create_dir_all(sources.join("lists/partial"))
            .map_err(|error| format!("{} cannot be made ({error})", sources.display()))?;
        headers(stage)?;
        fetch(&sources, stage)?;
        build(&home, &sources, pip, stage)?;
        packages(&home, checkout, stage)?;
        // The sources and build files are not needed any more.
        drop(std::fs::remove_dir_all(&sources));
        std::fs::write(home.join(FINISHED), SOURCE)
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
fn fetch(sources: &Path, stage: &mut Stage) -> Outcome {
    let asked = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"];
    let archives = answer_of("apt-get", &asked).unwrap_or_default();
    let archive = archives
        .lines()
        .filter_map(|line| line.strip_prefix("Debian "))
        .find(|address| !address.contains("security"))
        .ok_or_else(|| "apt has no archive of Debian (run apt-get update)".to_owned())?;
    let list = sources.join("only.sources");
    let text = format!(
        "Types: deb-src\nURIs: {archive}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n"
    );
    std::fs::write(&list, text)
        .map_err(|error| format!("{} cannot be written ({error})", list.display()))?;
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
    stage
        .run(apt().arg("update"))
        .and_then(|()| stage.run(apt().args(["source", "--download-only", SOURCE])))
        .map_err(|_| format!("apt-get does not find the sources of {SOURCE} in Debian {SUITE}"))
}

/// Unpacks, configures, builds and installs.
fn build(home: &Path, sources: &Path, unpacker: &Interpreter, stage: &mut Stage) -> Outcome {
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
    stage.run(configure.current_dir(&tree))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = Command::new("make");
    stage.run(make.current_dir(&tree).args(["--quiet", &format!("--jobs={jobs}")]))?;
    let mut install = Command::new("make");
    stage.run(install.current_dir(&tree).args(["--quiet", "altinstall"]))
}

/// Fetches packages with the pip of the environment, for this interpreter.
fn packages(home: &Path, checkout: &Checkout, stage: &mut Stage) -> Outcome {
    let mut pip = Command::new(checkout.venv().join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
        .args(["--disable-pip-version-check", "--only-binary=:all:", "--python-version=3.13"])
        .args(["--implementation=cp", "--abi=cp313t", "--target"])
        .arg(home.join("packages"))
        .args(PACKAGES);
    stage.run(&mut pip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_environment() {
        let pins = include_str!("../../../requirements/base.txt");
        for pin in PACKAGES {
            assert!(pins.lines().any(|line| line == pin), "{pin}");
        }
    }

    #[test]
    fn pyo3_is_one_that_is_checked() {
        assert!(include_str!("../contribute/pyo3_range.rs").contains(&format!("\"{PYO3}\"")));
    }
}
