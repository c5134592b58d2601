//! The tests of the Vulkan and WebGPU backends, on a driver of this machine.

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::contribute::rust_tests::run_tests;
use crate::report::{Ending, Stop, missing, missing_any};
use crate::run::{Stage, cargo};
use crate::system;

/// The manifests of drivers.
const DRIVERS: &str = "/usr/share/vulkan/icd.d";
/// What those of lavapipe, which runs on the processor, begin with.
const LAVAPIPE: &str = "lvp_icd";
/// Debian's packages of lavapipe, and of the loader of drivers.
const LAVAPIPE_PACKAGES: &[&str] = &["mesa-vulkan-drivers", "libvulkan1"];
/// And of the layer.
const LAYER_PACKAGES: &[&str] = &["vulkan-validationlayers"];
/// The layer that checks whether programs use Vulkan as it says.
const LAYER: &str = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json";
/// The variable by which the tests find wgpu-native.
const WGPU_NATIVE: &str = "DLPACK_WGPU_NATIVE";
/// What every finding of the layer names.
const FINDING: &str = "VUID-";

/// The tests, for which lavapipe and the validation layer are installed where they
/// are missing and the system lets us.
pub(crate) fn vulkan_installed(context: &Context, stage: &mut Stage) -> Ending {
    let layer = || Path::new(LAYER).exists();
    // What cannot be installed is missed by the tests.
    for (what, packages, present) in [
        (
            "lavapipe",
            LAVAPIPE_PACKAGES,
            (&|| chosen() || lavapipe().is_some()) as &dyn Fn() -> bool,
        ),
        ("the validation layer", LAYER_PACKAGES, &layer),
    ] {
        drop(system::ensure(what, packages, present, stage));
    }
    vulkan(context, stage)
}

/// Runs the tests on lavapipe, or on what the caller's environment names. Where
/// the validation layer is installed, it must find nothing.
pub(crate) fn vulkan(context: &Context, stage: &mut Stage) -> Ending {
    let lavapipe = lavapipe();
    if !chosen() && lavapipe.is_none() {
        let packages = LAVAPIPE_PACKAGES.join(" ");
        let reason = format!("there is no lavapipe (apt-get install {packages})");
        // WebGPU runs on it.
        return missing_any(&["vulkan", "webgpu"], reason);
    }
    let mut command = cargo(&context.checkout);
    command
        .args(["test", "--no-fail-fast", "--package=dlpack-vulkan-tests"])
        // What a layer finds is printed by tests that pass.
        .args(["--", "--nocapture"])
        .env("DLPACK_REQUIRE", "vulkan");
    if let (false, Some(manifest)) = (chosen(), lavapipe) {
        command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", &manifest);
    }
    if let Some(library) = wgpu_native(context, stage)? {
        command.env(WGPU_NATIVE, library).env("DLPACK_REQUIRE", "vulkan,webgpu");
    }
    if Path::new(LAYER).exists() {
        command.env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    } else {
        stage.note(&format!(
            "without the validation layer (apt-get install {})",
            LAYER_PACKAGES.join(" ")
        ));
    }
    run_tests(stage, &mut command)?;
    if stage.logged().contains(FINDING) {
        let log = stage.log_path().display().to_string();
        return Err(Stop::Failed(format!("the validation layer has findings; see {log}.")));
    }
    Ok(())
}

/// wgpu-native: the one that the caller names, or that of a wheel. Without it the
/// tests of WebGPU say that they were skipped, and the step fails where it may not be.
fn wgpu_native(context: &Context, stage: &mut Stage) -> Result<Option<PathBuf>, Stop> {
    if let Some(library) = std::env::var_os(WGPU_NATIVE) {
        return Ok(Some(library.into()));
    }
    let folder = context.checkout.target().join("webgpu");
    let library = folder.join("wgpu/resources/libwgpu_native-release.so");
    if !library.exists() {
        let mut pip = context.environment(stage)?.python(&context.checkout);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]);
        pip.args(["--requirement", "requirements/webgpu.txt", "--target"]).arg(&folder);
        drop(stage.run(&mut pip));
    }
    if library.exists() {
        return Ok(Some(library));
    }
    let reason = "wgpu-native cannot be had (requirements/webgpu.txt)";
    if let required @ Err(Stop::Failed(_)) = missing("webgpu", reason.to_owned()) {
        return required.map(|()| None);
    }
    stage.note(&format!("WebGPU SKIPPED: {reason}"));
    Ok(None)
}

/// Whether the caller's environment names a driver.
fn chosen() -> bool {
    let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
    variables.iter().any(|variable| std::env::var_os(variable).is_some())
}

/// lavapipe's manifest.
fn lavapipe() -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(DRIVERS).ok()?.flatten();
    let found = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(LAVAPIPE));
    found.map(|entry| entry.path())
}
