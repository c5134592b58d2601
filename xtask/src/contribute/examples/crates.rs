//! `examples/crates`: a workspace of its own, because its crates need a newer Rust.

use std::path::PathBuf;

use crate::checkout::{read, write};
use crate::context::Context;
use crate::contribute::rust_tests::run_tests;
use crate::report::{Ending, Stop};
use crate::run::{Stage, cargo};

/// The variable by which the crate `ort` finds ONNX Runtime.
const LIBRARY: &str = "ORT_DYLIB_PATH";
/// The package whose wheel contains ONNX Runtime.
const PACKAGE: &str = "requirements/onnxruntime.txt";

/// Tensor types of other crates have equal addresses before and after.
pub(crate) fn crates(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let library = onnx_runtime(context, stage)?;
    let mut command = cargo(checkout);
    command
        .env(LIBRARY, library)
        .env("CARGO_TARGET_DIR", checkout.target().join("crates"))
        // 330 crates without debug information take about 1 GB.
        .env("CARGO_INCREMENTAL", "0")
        .args(["test", "--locked", "--features", "ort", "--manifest-path"])
        .arg(checkout.root().join("examples/crates/Cargo.toml"));
    run_tests(stage, &mut command)
}

/// The library of ONNX Runtime: the one that the caller names, or that of the wheel, which is
/// installed without the packages that its Python module needs.
fn onnx_runtime(context: &Context, stage: &mut Stage) -> Result<PathBuf, Stop> {
    if let Some(library) = std::env::var_os(LIBRARY) {
        return Ok(library.into());
    }
    let checkout = &context.checkout;
    let folder = checkout.target().join("onnxruntime");
    let installed = folder.join("installed.txt");
    let pins = read(&checkout.root().join(PACKAGE))?;
    if read(&installed).ok().as_ref() != Some(&pins) {
        drop(std::fs::remove_dir_all(&folder));
        let mut pip = context.environment(stage)?.python(checkout);
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", PACKAGE]);
        stage.run(pip.arg("--target").arg(&folder))?;
        write(&installed, pins)?;
    }
    let libraries = folder.join("onnxruntime/capi");
    let entries = std::fs::read_dir(&libraries).into_iter().flatten().flatten();
    let found = entries.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libonnxruntime.") || name == "onnxruntime.dll"
    });
    found.ok_or_else(|| {
        Stop::Failed(format!("{} has no library of ONNX Runtime.", libraries.display()))
    })
}
