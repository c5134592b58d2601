//! The tests of the Vulkan backend, on a driver of this machine.

use std::path::{Path, PathBuf};

use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, cargo};
use crate::rust_tests::run_tests;
use crate::test::Context;

/// The manifests of drivers.
const DRIVERS: &str = "/usr/share/vulkan/icd.d";
/// What those of lavapipe, which runs on the processor, begin with.
const LAVAPIPE: &str = "lvp_icd";
/// The layer that checks whether programs use Vulkan as it says.
const LAYER: &str = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json";
/// What every finding of the layer names.
const FINDING: &str = "VUID-";

/// Runs the tests on lavapipe, or on what the caller's environment names. Where
/// the validation layer is installed, it must find nothing.
pub(crate) fn vulkan(context: &Context, stage: &mut Stage) -> Ending {
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .iter()
        .any(|variable| std::env::var_os(variable).is_some());
    let lavapipe = lavapipe();
    if !chosen && lavapipe.is_none() {
        let reason = "there is no lavapipe (apt-get install mesa-vulkan-drivers libvulkan1)";
        return missing("vulkan", reason.to_owned());
    }
    let mut command = cargo(&context.checkout);
    command
        .args(["test", "--no-fail-fast", "--package=dlpack-vulkan-tests"])
        // What a layer finds is printed by tests that pass.
        .args(["--", "--nocapture"])
        .env("DLPACK_REQUIRE", "vulkan");
    if let (false, Some(manifest)) = (chosen, lavapipe) {
        command.env("VK_DRIVER_FILES", &manifest).env("VK_ICD_FILENAMES", &manifest);
    }
    if Path::new(LAYER).exists() {
        command.env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    } else {
        stage.note("without the validation layer (apt-get install vulkan-validationlayers)");
    }
    run_tests(stage, &mut command)?;
    if stage.logged().contains(FINDING) {
        let log = stage.log_path().display().to_string();
        return Err(Stop::Failed(format!("the validation layer has findings; see {log}.")));
    }
    Ok(())
}

fn lavapipe() -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(DRIVERS).ok()?.flatten();
    let found = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(LAVAPIPE));
    found.map(|entry| entry.path())
}
