//! The tests of GPU backends, on the simulator.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::contribute::develop::{Module, check_import};
use crate::contribute::python_tests;
use crate::contribute::rust_tests::run_tests;
use crate::report::{Ending, Stop, missing_any};
use crate::run::{Stage, cargo};

/// Names under which programs look for the vendors' libraries.
const LIBRARIES: [&str; 4] = ["libcuda.so", "libcuda.so.1", "libamdhip64.so", "libamdhip64.so.7"];
/// What `DLPACK_REQUIRE` calls the vendors' runtimes.
const NAMES: [&str; 2] = ["cuda", "rocm"];
/// The variable by which the loader finds them.
const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// Builds the simulator, and runs the tests where it is found in place of a driver.
pub(crate) fn simulated(context: &Context, stage: &mut Stage) -> Ending {
    if !cfg!(target_os = "linux") {
        return missing_any(&NAMES, "the simulator is for Linux".to_owned());
    }
    let checkout = &context.checkout;
    stage.run(cargo(checkout).args(["build", "--package=gpu-simulator"]))?;
    let folder = checkout.target().join("gpu-simulator");
    let built = checkout.target().join("debug/libgpu_simulator.so");
    install(&built, &folder)
        .map_err(|error| format!("{} cannot be written ({error}).", folder.display()))?;
    let mut command = cargo(checkout);
    command
        .args(["test", "--no-fail-fast", "--package=dlpack-gpu-tests"])
        .env(LOADER_PATH, loader_path(&folder)?)
        .env("DLPACK_REQUIRE", NAMES.join(","));
    run_tests(stage, &mut command)
}

/// The module of `examples/cuda-kernel`.
const KERNEL: Module = Module { package: "dlpack-cuda-kernel", name: "cuda_kernel", sources: None };

/// Python classes on GPUs, where the loader finds the simulator that the step
/// before built. A process of its own: no other test is to see a driver.
pub(crate) fn python_simulated(context: &Context, stage: &mut Stage) -> Ending {
    on_simulator(context, "tests/python/gpus/gpu_classes.py", stage)
}

/// `examples/cuda-kernel` with arrays on the simulator.
pub(crate) fn example_kernel(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let environment = context.modules(stage)?;
    let build = context.build();
    build.run(checkout, &environment.interpreter, &[KERNEL], stage)?;
    check_import(&mut environment.python(checkout), KERNEL, &build.modules, stage)?;
    on_simulator(context, "tests/python/gpus/example_kernel.py", stage)
}

/// Runs tests in Python where the loader finds the simulator.
fn on_simulator(context: &Context, tests: &str, stage: &mut Stage) -> Ending {
    let environment = context.modules(stage)?;
    let folder = context.checkout.target().join("gpu-simulator");
    if !folder.exists() {
        return missing_any(&NAMES, "there is no simulator: see that step".to_owned());
    }
    let mut command = python_tests::pytest_of(&context.checkout, environment);
    command
        .arg(tests)
        .env(LOADER_PATH, loader_path(&folder)?)
        .env("DLPACK_REQUIRE", environment.required(&NAMES.join(",")));
    python_tests::run(&mut command, stage)
}

/// Where the loader is to look: first there.
fn loader_path(folder: &Path) -> Result<OsString, Stop> {
    let mut paths = vec![folder.to_path_buf()];
    paths.extend(std::env::var_os(LOADER_PATH).iter().flat_map(std::env::split_paths));
    std::env::join_paths(paths).map_err(|error| Stop::Failed(error.to_string()))
}

/// Puts one library under all its names. Links, so that it is loaded once.
pub(crate) fn install(built: &Path, folder: &PathBuf) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for name in LIBRARIES {
        let link = folder.join(name);
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link)?;
        }
        symlink(built, &link)?;
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(to: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

#[cfg(not(unix))]
fn symlink(to: &Path, link: &Path) -> std::io::Result<()> {
    std::fs::copy(to, link).map(drop)
}
