//! `cargo xtask gpu`: checks that need a GPU.
//!
//! A machine with a GPU may have neither Rust nor a network. So everything that the checks need
//! is first built into a folder, the bundle, which any such machine can run: test programs, an
//! extension module for every CPython, the script, and `run.sh`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{copy_file, root, target, write};
use crate::command::{EXTENSION_MODULE, Words as _, answer_of, cargo, executables};
use crate::context::Context;
use crate::outcome::{Ending, Outcome};

/// The folders of test programs, and what cargo builds for them. A driver of NVIDIA's also serves
/// Vulkan and OpenCL.
const PROGRAMS: [(&str, &str); 3] = [
    ("cuda", "--package=dlpack-gpu-tests --tests"),
    ("opencl", "--package=dlpack-accelerator-tests --test=opencl"),
    ("vulkan", "--package=dlpack-vulkan-tests --tests"),
];
/// The command of a bundle.
const RUN: &str = r#"#!/bin/sh
# Runs all checks, and writes record.md and log.txt to a folder: ./run.sh [RESULTS].
# DLPACK_PYTHON is a Python with PyTorch and CuPy for CUDA.
here=$(cd "$(dirname "$0")" && pwd)
exec "${DLPACK_PYTHON:-python3}" "$here/evidence.py" --bundle "$here" --results "${1:-results}"
"#;
/// The size of a bundle, in bytes, that can be copied to every machine we know of.
const MOST: u64 = 64 << 20;

/// Makes a bundle in `folder`, or makes one and runs it here.
pub(crate) fn run(context: &Context, folder: Option<&Path>) -> Ending {
    let python = std::env::var_os("DLPACK_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let place = folder.map_or_else(|| target("gpu-bundle"), Path::to_path_buf);
    let size = make(context, &python, &place)?;
    context.note(format!("{} ({} MiB) is made", place.display(), size.div_ceil(1 << 20)));
    if size > MOST {
        return Err(format!("the bundle has {size} bytes, more than {MOST}.").into());
    }
    if folder.is_some() {
        return Ok(());
    }
    let mut command = Command::new(&python);
    command.arg(place.join("evidence.py")).arg("--bundle").arg(&place);
    command.arg("--results").arg(target("gpu-results"));
    Ok(context.show(command.arg("--page").arg(root().join("docs/records/gpus.md")))?)
}

/// Builds and copies. Returns the size in bytes.
fn make(context: &Context, python: &Path, place: &Path) -> Outcome<u64> {
    let built = target("gpu-evidence");
    let mut modules = cargo(
        "CARGO_PROFILE_RELEASE_STRIP=symbols build --release --package=dlpack-testing \
         --package=dlpack-cuda-kernel --features=dlpack-testing/abi3,dlpack-cuda-kernel/abi3",
    );
    modules.env("PYO3_PYTHON", python).envs([EXTENSION_MODULE]);
    context.run(modules.builds_in("gpu-evidence"))?;
    let folder = place.join("programs");
    drop(std::fs::remove_dir_all(&folder));
    let mut files = vec![
        (root().join("tests/devices/gpu/evidence.py"), place.join("evidence.py")),
        (root().join("examples/cuda-kernel/main.py"), place.join("example_kernel.py")),
        (built.join("release/libdlpack_testing.so"), place.join("dlpack_testing.abi3.so")),
        (built.join("release/libcuda_kernel.so"), place.join("cuda_kernel.abi3.so")),
    ];
    for (name, line) in PROGRAMS {
        let mut tests = cargo("CARGO_PROFILE_DEV_STRIP=symbols test --no-run");
        let output = context.output_of(tests.words(line).builds_in("gpu-evidence"))?;
        let programs = executables(&output);
        if programs.is_empty() {
            return Err(format!("cargo built no test program for {name}."));
        }
        for program in programs {
            let file = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
            let (test, _hash) = file.rsplit_once('-').unwrap_or((&file, ""));
            files.push((root().join(program), folder.join(name).join(test)));
        }
    }
    // A library that a test of WebGPU loads from a folder beside its program's.
    let mut example = cargo("CARGO_PROFILE_DEV_STRIP=symbols build --package=dlpack-vulkan-tests");
    context.run(example.arg("--example=delayed_queue").builds_in("gpu-evidence"))?;
    let example = "examples/libdelayed_queue.so";
    files.push((built.join("debug").join(example), folder.join(example)));
    let mut size = 0;
    for (from, to) in files {
        copy_file(&from, &to)?;
        size += to.metadata().map_or(0, |data| data.len());
    }
    let run = place.join("run.sh");
    write(&run, RUN)?;
    context.run(Command::new("chmod").arg("755").arg(&run))?;
    write(&place.join("commit.txt"), commit())?;
    Ok(size)
}

/// The commit that the bundle is built from, for the record.
fn commit() -> String {
    let commit = answer_of("git", &["rev-parse", "--short=8", "HEAD"]);
    let changes = answer_of("git", &["status", "--porcelain"]).unwrap_or_default();
    let commit = commit.as_deref().map_or("not known", str::trim);
    if changes.is_empty() { commit.to_owned() } else { format!("{commit} with changes") }
}
