//! The tests of oneAPI and OpenCL, on runtimes that make the processor a device.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::Outcome;
use crate::context::Context;
use crate::contribute::develop::{EXAMPLE, FUNCTIONS, TESTING};
use crate::contribute::python_tests;
use crate::contribute::rust_tests::run_tests;
use crate::interpreter::Interpreter;
use crate::report::{Ending, missing_any};
use crate::run::{Stage, cargo};
use crate::venv::{self, Environment};

/// What `DLPACK_REQUIRE` calls the runtimes.
const NAMES: [&str; 2] = ["oneapi", "opencl"];

/// Files of the packages in the environment.
struct Runtimes {
    /// DPCTL's library.
    dpctl: PathBuf,
    /// The folder with OpenCL's loader, and with what that needs.
    libraries: PathBuf,
    /// Intel's runtime, which has USM.
    intel: PathBuf,
    /// PoCL, which has none.
    pocl: PathBuf,
}

/// Installs the runtimes, and runs the tests with each order of devices.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return missing_any(&NAMES, "they have wheels for Linux on x86-64 only".to_owned());
    }
    let interpreter = Interpreter::find(checkout)?;
    let environment = match venv::DEVICES.ensure(checkout, interpreter, stage) {
        Ok(environment) => environment,
        Err(sentence) => {
            return missing_any(&NAMES, sentence.trim_end_matches('.').to_owned());
        }
    };
    let runtimes = Runtimes::of(&venv::DEVICES.link(checkout))?;
    for (first, second, index) in [
        (&runtimes.intel, None, 0),
        (&runtimes.intel, Some(&runtimes.pocl), 0),
        (&runtimes.pocl, Some(&runtimes.intel), 1),
    ] {
        let mut command = cargo(checkout);
        command.args(["test", "--no-fail-fast", "--package=dlpack-accelerator-tests"]);
        runtimes.order(&mut command, first, second, index);
        command
            .env("LD_LIBRARY_PATH", &runtimes.libraries)
            .env("DLPACK_OPENCL", runtimes.libraries.join("libOpenCL.so.1"))
            .env("DLPACK_DPCTL", &runtimes.dpctl)
            .env("DLPACK_REQUIRE", NAMES.join(","));
        run_tests(stage, &mut command)?;
    }
    let folder = modules(context, &environment, stage)?;
    let runtimes_named = NAMES.join(",");
    let required = [environment.required_there(), &runtimes_named, FUNCTIONS.name].join(",");
    for (first, second, index) in
        [(&runtimes.intel, None, 0), (&runtimes.pocl, Some(&runtimes.intel), 1)]
    {
        let mut command = environment.python(checkout);
        command
            .args(["-m", "pytest", "-ra", "--color=no"])
            .args(["tests/python/test_oneapi.py", "tests/python/test_opencl.py"])
            .env("DLPACK_PYTHON_MODULES", &folder)
            .env("DLPACK_REQUIRE", required.as_str());
        runtimes.order(&mut command, first, second, index);
        python_tests::run(&mut command, stage)?;
    }
    Ok(())
}

/// The modules for the environment's Python; they are built for its interpreter.
fn modules(context: &Context, environment: &Environment, stage: &mut Stage) -> Outcome<PathBuf> {
    let build = context.build();
    build.run(
        &context.checkout,
        &environment.interpreter,
        &[EXAMPLE, FUNCTIONS, TESTING],
        stage,
    )?;
    Ok(build.modules)
}

impl Runtimes {
    fn of(environment: &Path) -> Outcome<Self> {
        let libraries = environment.join("lib");
        let python = one_in(&libraries, "python3.")?;
        let packages = python.join("site-packages");
        Ok(Self {
            dpctl: packages.join("dpctl/libDPCTLSyclInterface.so"),
            intel: libraries.join("libintelocl.so"),
            pocl: one_in(&packages.join("pyopencl/.libs"), "libpocl-")?,
            libraries,
        })
    }

    /// Which runtimes there are, in this order: it gives devices their numbers.
    /// `index` is that of the device with USM.
    fn order(&self, command: &mut Command, first: &Path, second: Option<&PathBuf>, index: u8) {
        let files = [Some(first), second.map(PathBuf::as_path)];
        let files: Vec<String> =
            files.into_iter().flatten().map(|file| file.display().to_string()).collect();
        command
            .env("OCL_ICD_FILENAMES", files.join(":"))
            // What the system has besides would move the numbers.
            .env("OCL_ICD_VENDORS", &self.libraries)
            .env("DLPACK_ONEAPI_INDEX", index.to_string());
    }
}

/// The entry of a folder whose name begins so.
fn one_in(folder: &Path, begin: &str) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| format!("{} cannot be read ({error}).", folder.display()))?;
    let mut found = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(begin)));
    found.next().ok_or_else(|| format!("{} has no {begin}*.", folder.display()))
}
