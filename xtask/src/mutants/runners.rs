//! Building and running the tests of mutants in the copy of the sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::checks::devices::{GPUS, link_simulator};
use crate::checks::miri::STRICT;
use crate::command::{NIGHTLY, Words as _, cargo, cargo_of, executable};
use crate::context::Context;
use crate::modules::{Build, EXAMPLE, Profile, TESTING};
use crate::outcome::Outcome;
use crate::rules::edits::Runner;
use crate::rules::reference::Test;
use crate::stage::Stage;

/// The time limit of a test; a test that exceeds it has detected the mutant.
const LIMIT: Duration = Duration::from_secs(100);
/// Beginning of the names of test binaries that run on the simulator of GPUs.
pub(super) const SIMULATED: &str = "gpu/";

/// Tests that are built together and run one by one: a test binary, or without one the unit tests of
/// `dlpack-traits`, or the Python tests.
pub(super) struct Tests<'a> {
    context: &'a Context,
    runner: Runner,
    binary: &'a str,
    /// How the modules of the Python tests are built.
    build: Build,
}

impl<'a> Tests<'a> {
    pub(super) fn new(
        context: &'a Context,
        place: &Path,
        runner: Runner,
        binary: &'a str,
    ) -> Outcome<Self> {
        let python = context.build()?.python;
        let build = Build::below(place, &python, Profile::QuickRelease);
        let build = Build { sources: place.join("src"), ..build };
        if binary.contains('/') && !binary.starts_with(SIMULATED) {
            return Err(format!("the tests of {binary} need a runtime."));
        }
        Ok(Self { context, runner, binary, build })
    }

    /// A command in the copy. A third of the time is the linker's, and most of that for debug
    /// information.
    fn command(&self, mut command: Command) -> Command {
        command.words("CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0");
        command.env("CARGO_TARGET_DIR", &self.build.target).current_dir(&self.build.sources);
        command
    }

    fn simulator(&self) -> PathBuf {
        self.build.target.join("gpu-simulator")
    }

    /// Builds the tests with the sources as they are. Returns the test program, or nothing for
    /// tests of another runner than the machine; or what the compiler printed.
    pub(super) fn build(&self) -> Outcome<Result<PathBuf, String>> {
        let stage: &Stage = self.context;
        let mut line = "test --no-run --message-format=json-render-diagnostics".to_owned();
        match self.runner {
            Runner::Python => {
                let built = self.build.run(stage, &[EXAMPLE, TESTING]);
                return Ok(built.map(|()| PathBuf::new()));
            }
            Runner::Miri => {
                let (passed, output) = stage.attempt(&mut self.miri("--no-run"), None)?;
                return Ok(if passed { Ok(PathBuf::new()) } else { Err(output) });
            }
            Runner::Machine => match self.binary.strip_prefix(SIMULATED) {
                // No backend loads anything before it is used.
                None if self.binary.is_empty() => {
                    line += " --package=dlpack-traits --lib \
                             --features=derive,half,cuda,oneapi,opencl,rocm,vulkan,webgpu";
                }
                None => line.extend([" --package=dlpack-tests --test ", self.binary]),
                Some(binary) => {
                    stage.run(&mut self.command(cargo("build --package=gpu-simulator")))?;
                    let built = self.build.target.join("debug/libgpu_simulator.so");
                    link_simulator(&built, &self.simulator())?;
                    line.extend([" --package=dlpack-gpu-tests --test ", binary]);
                }
            },
        }
        let (passed, output) = stage.attempt(&mut self.command(cargo(&line)), None)?;
        let program = output.lines().rev().find_map(executable).filter(|_| passed);
        Ok(program.map(PathBuf::from).ok_or(output))
    }

    fn miri(&self, line: &str) -> Command {
        let tests = format!("miri test --package=dlpack-tests --test {} {line}", self.binary);
        let mut command = self.command(cargo_of(NIGHTLY, &tests));
        command.env("MIRIFLAGS", STRICT);
        command
    }

    /// Whether a test ends well, and in time; and what it printed. It must run.
    pub(super) fn passes(&self, program: &Path, test: &Test) -> Outcome<(bool, String)> {
        let (mut command, ran) = match self.runner {
            Runner::Machine => {
                let mut command = Command::new(program);
                // Where cargo would run it: tests read files.
                let package = if self.binary.is_empty() { "dlpack-traits" } else { "tests" };
                command.args(["--exact", &test.name]);
                command.current_dir(self.build.sources.join(package));
                if self.binary.starts_with(SIMULATED) {
                    command.env("LD_LIBRARY_PATH", self.simulator()).env("DLPACK_REQUIRE", GPUS);
                }
                (command, "running 1 test")
            }
            Runner::Miri => (self.miri(&format!("-- --exact {}", test.name)), ""),
            Runner::Python => {
                let environment = self.context.environment();
                let environment = environment.map_err(|_| "there is no Python environment.")?;
                let mut command = environment.pytest("", "");
                command
                    .current_dir(&self.build.sources)
                    .env("DLPACK_PYTHON_MODULES", &self.build.modules)
                    .arg(format!("{}::{}", test.file, test.name));
                (command, "")
            }
        };
        let (passed, output) = self.context.attempt(&mut command, Some(LIMIT))?;
        let was_skipped = self.runner == Runner::Python && passed && output.contains(" skipped");
        if !output.contains(ran) || was_skipped {
            return Err(format!("{} did not run.", test.name));
        }
        Ok((passed, output))
    }
}
