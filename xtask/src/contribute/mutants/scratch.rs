//! The copy of the sources that mutants change, and running tests there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::checkout::{Checkout, Outcome, read, write};
use crate::contribute::develop::{Build, EXAMPLE, Profile, TESTING};
use crate::contribute::gpu_tests;
use crate::contribute::python_tests::pytest_of;
use crate::contribute::rules::reference::Reference;
use crate::copy_sources::copy_sources;
use crate::quality::miri;
use crate::quality::nightly::TOOLCHAIN;
use crate::run::Stage;
use crate::venv::Environment;

/// The time limit of a test; a test that exceeds it has detected the mutant.
const LIMIT: Duration = Duration::from_secs(100);

/// A copy of the sources with a target folder of its own.
#[derive(Debug)]
pub(super) struct Scratch {
    checkout: PathBuf,
    sources: PathBuf,
    target: PathBuf,
}

impl Scratch {
    pub(super) fn make(checkout: &Checkout, stage: &mut Stage) -> Outcome<Self> {
        let place = checkout.target().join("mutants");
        let scratch = Self {
            checkout: checkout.root().to_owned(),
            sources: place.join("src"),
            target: place.join("target"),
        };
        copy_sources(&scratch.checkout, &scratch.sources, stage)?;
        Ok(scratch)
    }

    pub(super) fn sources(&self) -> &Path {
        &self.sources
    }

    /// Writes files, and restores their contents.
    pub(super) fn change(
        &self,
        files: &BTreeMap<String, String>,
    ) -> Outcome<BTreeMap<String, String>> {
        let mut before = BTreeMap::new();
        for (name, text) in files {
            let path = self.sources.join(name);
            before.insert(name.clone(), read(&path)?);
            write(&path, text)?;
        }
        Ok(before)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.sources)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            // A third of the time is the linker's, and most of that for these.
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    }
}

/// Tests that are built together and run one by one.
pub(super) trait Tests {
    /// Builds them with the sources as they are.
    fn build(&self, stage: &mut Stage) -> Outcome;
    /// Whether one passes.
    fn pass(&self, test: &Reference, stage: &mut Stage) -> Outcome<bool>;
}

/// What the names of test binaries begin with that run on the simulator of GPUs.
pub(super) const SIMULATED: &str = "gpu/";

/// A test binary of `dlpack-tests`, or of `dlpack-gpu-tests` with the simulator, or
/// with an empty name the unit tests of `dlpack-traits`.
pub(super) struct Rust<'a> {
    scratch: &'a Scratch,
    binary: String,
    built: RefCell<PathBuf>,
}

impl<'a> Rust<'a> {
    pub(super) fn new(scratch: &'a Scratch, binary: String) -> Self {
        Self { scratch, binary, built: RefCell::default() }
    }

    /// Where the loader finds the simulator.
    fn simulator(&self) -> PathBuf {
        self.scratch.target.join("gpu-simulator")
    }
}

impl Tests for Rust<'_> {
    fn build(&self, stage: &mut Stage) -> Outcome {
        let mut command = self.scratch.command("cargo");
        command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
        if self.binary.is_empty() {
            command.args(["--package=dlpack-traits", "--lib"]);
            // No backend loads anything before it is used.
            command.arg("--features=derive,half,cuda,oneapi,opencl,rocm,vulkan,webgpu");
        } else if let Some(binary) = self.binary.strip_prefix(SIMULATED) {
            stage.run(self.scratch.command("cargo").args(["build", "--package=gpu-simulator"]))?;
            let built = self.scratch.target.join("debug/libgpu_simulator.so");
            let folder = self.simulator();
            gpu_tests::install(&built, &folder)
                .map_err(|error| format!("{} cannot be written ({error}).", folder.display()))?;
            command.args(["--package=dlpack-gpu-tests", "--test", binary]);
        } else if self.binary.contains('/') {
            return Err(format!("the tests of {} need a runtime.", self.binary));
        } else {
            command.args(["--package=dlpack-tests", "--test", &self.binary]);
        }
        let before = stage.logged().len();
        stage.run(&mut command)?;
        let log = stage.logged();
        let built = log[before..].lines().rev().find_map(executable);
        let built = built.ok_or_else(|| format!("cargo built no test `{}`.", self.binary))?;
        *self.built.borrow_mut() = PathBuf::from(built);
        Ok(())
    }

    fn pass(&self, test: &Reference, stage: &mut Stage) -> Outcome<bool> {
        let (Reference::Rust { name, .. }
        | Reference::Device { name, .. }
        | Reference::Unit { name, .. }) = test
        else {
            return Err(format!("{test:?} is no test in Rust."));
        };
        let mut command = Command::new(&*self.built.borrow());
        // Where cargo would run it: tests read files.
        let package = if self.binary.is_empty() { "dlpack-traits" } else { "tests" };
        command.args(["--exact", name]).current_dir(self.scratch.sources.join(package));
        if self.binary.starts_with(SIMULATED) {
            command.env("LD_LIBRARY_PATH", self.simulator()).env("DLPACK_REQUIRE", "cuda,rocm");
        }
        let before = stage.logged().len();
        let passed = passes(&mut command, stage)?;
        let ran = stage.logged()[before..].contains("running 1 test");
        if ran { Ok(passed) } else { Err(format!("{name} did not run.")) }
    }
}

/// A test binary of `dlpack-tests`, run by Miri.
pub(super) struct Interpreted<'a> {
    scratch: &'a Scratch,
    binary: String,
}

impl<'a> Interpreted<'a> {
    pub(super) fn new(scratch: &'a Scratch, binary: String) -> Self {
        Self { scratch, binary }
    }

    fn miri(&self) -> Command {
        let mut command = self.scratch.command("rustup");
        command.args(["run", TOOLCHAIN, "cargo", "miri", "test"]);
        command.env("MIRIFLAGS", miri::STRICT);
        command.args(["--package=dlpack-tests", "--test", &self.binary]);
        command
    }
}

impl Tests for Interpreted<'_> {
    fn build(&self, stage: &mut Stage) -> Outcome {
        stage.run(self.miri().arg("--no-run"))
    }

    fn pass(&self, test: &Reference, stage: &mut Stage) -> Outcome<bool> {
        let Reference::Rust { name, .. } = test else {
            return Err(format!("{test:?} is no test that Miri runs here."));
        };
        passes(self.miri().args(["--", "--exact", name]), stage)
    }
}

/// The path in one of cargo's messages about a test binary.
fn executable(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("\"executable\":\"")?;
    rest.split_once('"').map(|(path, _)| path)
}

/// Tests of the extension modules.
pub(super) struct Python<'a> {
    checkout: &'a Checkout,
    scratch: &'a Scratch,
    environment: &'a Environment,
    build: Build,
}

impl<'a> Python<'a> {
    pub(super) fn new(
        checkout: &'a Checkout,
        scratch: &'a Scratch,
        environment: &'a Environment,
    ) -> Self {
        let build = Build {
            sources: scratch.sources.clone(),
            target: scratch.target.clone(),
            modules: scratch.target.with_file_name("python"),
            profile: Profile::QuickRelease,
        };
        Self { checkout, scratch, environment, build }
    }
}

impl Tests for Python<'_> {
    fn build(&self, stage: &mut Stage) -> Outcome {
        let interpreter = &self.environment.interpreter;
        self.build.run(self.checkout, interpreter, &[EXAMPLE, TESTING], stage)
    }

    fn pass(&self, test: &Reference, stage: &mut Stage) -> Outcome<bool> {
        let Reference::Python { file, name } = test else {
            return Err(format!("{test:?} is no test in Python."));
        };
        let mut command = pytest_of(self.checkout, self.environment);
        command
            .current_dir(&self.scratch.sources)
            .env("DLPACK_PYTHON_MODULES", &self.build.modules)
            .arg(format!("tests/python/{file}::{name}"));
        let before = stage.logged().len();
        let passed = passes(&mut command, stage)?;
        let skipped = stage.logged()[before..].contains(" skipped");
        if passed && skipped { Err(format!("{name} was skipped.")) } else { Ok(passed) }
    }
}

/// Whether a program ends well, and in time.
fn passes(command: &mut Command, stage: &mut Stage) -> Outcome<bool> {
    let cannot = |error: std::io::Error| format!("a test does not start ({error}).");
    let log = || std::fs::File::options().append(true).open(stage.log_path());
    let (out, err) = (log().map_err(cannot)?, log().map_err(cannot)?);
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(cannot)?;
    loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            return Ok(status.success());
        }
        if started.elapsed() > LIMIT {
            // It may have ended between the check and the kill.
            drop(child.kill());
            drop(child.wait());
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_fails_or_passes() {
        let checkout = Checkout::find().expect("run by cargo");
        let mut stage = Stage::begin(&checkout, "a program", "passes").expect("a log");
        assert_eq!(passes(Command::new("cargo").arg("--version"), &mut stage), Ok(true));
        assert_eq!(passes(Command::new("cargo").arg("--nothing"), &mut stage), Ok(false));
    }
}
