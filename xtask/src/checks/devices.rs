//! The tests of backends: GPUs on the simulator, Vulkan and WebGPU on a driver of this machine,
//! oneAPI and OpenCL on runtimes that make the processor a device.

use std::path::{Path, PathBuf};

use crate::checkout::{entry, link, target};
use crate::command::{Words as _, before, cargo};
use crate::context::Context;
use crate::environment::{self, DEVICES};
use crate::modules::{EXAMPLE, FUNCTIONS, Module, TESTING, module};
use crate::outcome::{Ending, Outcome, Stop, missing, need};
use crate::tools;

/// Names under which programs look for the libraries of GPU vendors.
const LIBRARIES: [&str; 4] = ["libcuda.so", "libcuda.so.1", "libamdhip64.so", "libamdhip64.so.7"];
/// What `DLPACK_REQUIRE` calls the vendors' runtimes.
pub(crate) const GPUS: &str = "cuda,rocm";
/// The variable by which the loader finds them.
const LOADER_PATH: &str = "LD_LIBRARY_PATH";
/// The module of `examples/cuda-kernel`.
const KERNEL: Module = module("dlpack-cuda-kernel", "cuda_kernel");

/// The manifests of Vulkan drivers.
const DRIVERS: &str = "/usr/share/vulkan/icd.d";
/// The layer that checks whether programs use Vulkan as it says.
const LAYER: &str = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json";
/// Debian's packages of lavapipe, a driver that runs on the processor, and of the loader of drivers.
const LAVAPIPE_PACKAGES: &str = "mesa-vulkan-drivers libvulkan1";
const LAYER_PACKAGES: &str = "vulkan-validationlayers";
/// The variable by which the tests find wgpu-native.
const WGPU_NATIVE: &str = "DLPACK_WGPU_NATIVE";

/// What `DLPACK_REQUIRE` calls the runtimes.
const RUNTIMES: &str = "oneapi,opencl";

/// Builds the simulator, and runs the tests where it is found in place of a driver.
pub(crate) fn simulated(context: &Context) -> Ending {
    need(cfg!(target_os = "linux"), GPUS, "the simulator is for Linux")?;
    context.run(&mut cargo("build --package=gpu-simulator"))?;
    let folder = target("gpu-simulator");
    link_simulator(&target("debug/libgpu_simulator.so"), &folder)?;
    let mut command = cargo("test --no-fail-fast --package=dlpack-gpu-tests");
    command.env(LOADER_PATH, before(&folder, LOADER_PATH)).env("DLPACK_REQUIRE", GPUS);
    context.run_tests(&mut command)
}

/// Puts one library under all its names. Links, so that it is loaded once.
pub(crate) fn link_simulator(built: &Path, folder: &Path) -> Outcome {
    LIBRARIES.iter().try_for_each(|name| link(built, &folder.join(name)))
}

/// Python classes on GPUs, where the loader finds the simulator that the step
/// before built. A process of its own: no other test is to see a driver.
pub(crate) fn python_simulated(context: &Context) -> Ending {
    on_simulator(context, "tests/python/gpus/gpu_classes.py")
}

/// `examples/cuda-kernel` with arrays on the simulator.
pub(crate) fn example_kernel(context: &Context) -> Ending {
    let environment = context.modules()?;
    context.build()?.run_for(context, &[KERNEL], &environment.python(""))?;
    on_simulator(context, "tests/python/gpus/example_kernel.py")
}

fn on_simulator(context: &Context, tests: &str) -> Ending {
    let environment = context.modules()?;
    let folder = target("gpu-simulator");
    need(folder.exists(), GPUS, "there is no simulator: see that step")?;
    let mut command = environment.pytest(GPUS, tests);
    Ok(context.run(command.env(LOADER_PATH, before(&folder, LOADER_PATH)))?)
}

/// Runs the tests on lavapipe, or on what the caller's environment names. Lavapipe and the validation
/// layer are installed where they are missing and the system allows it; with the layer, it must find
/// nothing.
pub(crate) fn vulkan(context: &Context) -> Ending {
    let has_driver = || chosen() || lavapipe().is_some();
    // The tests report what cannot be installed.
    drop(tools::install(context, "lavapipe", LAVAPIPE_PACKAGES, has_driver));
    let has_layer = || Path::new(LAYER).exists();
    drop(tools::install(context, "the validation layer", LAYER_PACKAGES, has_layer));
    let lavapipe = lavapipe();
    // WebGPU runs on it.
    let advice = format!("there is no lavapipe (apt-get install {LAVAPIPE_PACKAGES})");
    need(chosen() || lavapipe.is_some(), "vulkan,webgpu", &advice)?;
    // What a layer finds is printed by tests that pass.
    let mut command = cargo("test --no-fail-fast --package=dlpack-vulkan-tests -- --nocapture");
    command.env("DLPACK_REQUIRE", "vulkan");
    if let Some(manifest) = lavapipe.filter(|_| !chosen()) {
        command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", &manifest);
    }
    if let Some(library) = wgpu_native(context)? {
        command.env(WGPU_NATIVE, library).env("DLPACK_REQUIRE", "vulkan,webgpu");
    }
    if Path::new(LAYER).exists() {
        command.env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    } else {
        context.note(format!("without the validation layer (apt-get install {LAYER_PACKAGES})"));
    }
    context.run_tests(&mut command)?;
    // Every finding of the layer names a rule.
    if context.logged().contains("VUID-") {
        return Err("the validation layer has findings; see the log.".into());
    }
    Ok(())
}

/// wgpu-native: the one that the caller names, or that of a wheel. Without it the
/// tests of WebGPU say that they were skipped, and the step fails where it may not be.
fn wgpu_native(context: &Context) -> Ending<Option<PathBuf>> {
    if let Some(library) = std::env::var_os(WGPU_NATIVE) {
        return Ok(Some(library.into()));
    }
    let installed = context.environment()?.install_apart(context, "webgpu", "webgpu");
    let library = target("webgpu/wgpu/resources/libwgpu_native-release.so");
    if installed.is_ok() && library.exists() {
        return Ok(Some(library));
    }
    match missing("webgpu", "wgpu-native cannot be had (requirements/webgpu.txt)") {
        Err(Stop::Skipped(reason)) => {
            context.note(format!("WebGPU SKIPPED: {reason}"));
            Ok(None)
        }
        other => other,
    }
}

/// Whether the caller's environment names a driver.
fn chosen() -> bool {
    ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| std::env::var_os(name).is_some())
}

/// The manifest of lavapipe.
fn lavapipe() -> Option<PathBuf> {
    entry(Path::new(DRIVERS), "lvp_icd").ok()
}

/// Installs oneAPI and OpenCL for the processor, and runs the tests with each order of devices.
pub(crate) fn runtimes(context: &Context) -> Ending {
    let has_wheels = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    need(has_wheels, RUNTIMES, "they have wheels for Linux on x86-64 only")?;
    let environment = match environment::ensure(context, &DEVICES) {
        Ok(environment) => environment,
        Err(sentence) => return missing(RUNTIMES, sentence),
    };
    let packages = environment.packages();
    // The folder of OpenCL's loader, of its libraries, and of Intel's runtime, which has USM.
    let libraries = environment.place().join("venv/lib");
    let intel = libraries.join("libintelocl.so");
    // A runtime without USM.
    let pocl = entry(&packages.join("pyopencl/.libs"), "libpocl-")?;
    // The order of the runtimes gives devices their numbers; one of the variables names that of the
    // device with USM. Other runtimes of the system would change the numbers.
    let order = |command: &mut std::process::Command, files: &[&PathBuf]| {
        let index = files.iter().position(|file| **file == intel).unwrap_or_default();
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        command.env("OCL_ICD_FILENAMES", files.join(":")).env("OCL_ICD_VENDORS", &libraries);
        command.env("DLPACK_ONEAPI_INDEX", index.to_string());
    };
    for files in [&[&intel][..], &[&intel, &pocl], &[&pocl, &intel]] {
        let mut command = cargo("test --no-fail-fast --package=dlpack-accelerator-tests");
        order(&mut command, files);
        command
            .env(LOADER_PATH, &libraries)
            .env("DLPACK_OPENCL", libraries.join("libOpenCL.so.1"))
            .env("DLPACK_DPCTL", packages.join("dpctl/libDPCTLSyclInterface.so"))
            .env("DLPACK_REQUIRE", RUNTIMES);
        context.run_tests(&mut command)?;
    }
    let build = context.build()?;
    build.run(context, &[EXAMPLE, FUNCTIONS, TESTING])?;
    let required = [RUNTIMES, FUNCTIONS.name].join(",");
    for files in [&[&intel][..], &[&pocl, &intel]] {
        let mut command = environment.pytest(&required, "");
        order(&mut command, files);
        command.words("tests/python/test_oneapi.py tests/python/test_opencl.py");
        context.run(command.env("DLPACK_PYTHON_MODULES", &build.modules))?;
    }
    Ok(())
}
