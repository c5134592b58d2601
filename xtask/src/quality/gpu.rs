//! `cargo xtask gpu`: what only a GPU can show.
//!
//! A machine with a GPU may have neither Rust nor a network. So everything that the checks need
//! is first built into a folder, the bundle, which any such machine can run: test programs, an
//! extension module for every CPython, the script, and `run.sh`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::run::{EXTENSION_MODULE, Stage, cargo};

/// The script that runs the checks.
const SCRIPT: &str = "tests/devices/gpu/evidence.py";
/// The folders of test programs, and what cargo builds for them. A driver of NVIDIA's also serves
/// Vulkan and OpenCL.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("cuda", &["--package=dlpack-gpu-tests", "--tests"]),
    ("opencl", &["--package=dlpack-accelerator-tests", "--test=opencl"]),
    ("vulkan", &["--package=dlpack-vulkan-tests", "--tests"]),
];
/// The example of the Vulkan tests.
const EXAMPLE: &str = "libdelayed_queue.so";
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
pub(crate) fn gpu(checkout: &Checkout, folder: Option<&Path>) -> Outcome<ExitCode> {
    let mut stage = Stage::begin(checkout, "what only a GPU can show", "gpu")?;
    let python = std::env::var_os("DLPACK_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let place = folder.map_or_else(|| checkout.target().join("gpu-bundle"), Path::to_path_buf);
    let size = make(checkout, &python, &place, &mut stage)?;
    stage.done(&format!("{} ({} MiB) is made", place.display(), size.div_ceil(1 << 20)));
    if size > MOST {
        return Err(format!("the bundle has {size} bytes, more than {MOST}."));
    }
    if folder.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = Command::new(&python);
    command.arg(place.join("evidence.py")).arg("--bundle").arg(&place);
    command.arg("--results").arg(checkout.target().join("gpu-results"));
    command.arg("--page").arg(checkout.root().join("docs/records/gpus.md"));
    let status = command
        .status()
        .map_err(|error| format!("{} does not run ({error}).", python.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Builds and copies. Returns the size in bytes.
fn make(checkout: &Checkout, python: &Path, place: &Path, stage: &mut Stage) -> Outcome<u64> {
    let target = checkout.target().join("gpu-evidence");
    let mut module = cargo(checkout);
    module
        .args(["build", "--release", "--package=dlpack-testing", "--package=dlpack-cuda-kernel"])
        .arg("--features=dlpack-testing/abi3,dlpack-cuda-kernel/abi3")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env("PYO3_PYTHON", python)
        .envs([EXTENSION_MODULE])
        .arg("--target-dir")
        .arg(&target);
    stage.run(&mut module)?;
    let unwritable = |error| format!("{} cannot be written ({error}).", place.display());
    let folder = place.join("programs");
    drop(std::fs::remove_dir_all(&folder));
    let script = checkout.root().join(SCRIPT);
    let library = target.join("release/libdlpack_testing.so");
    let kernel = target.join("release/libcuda_kernel.so");
    let mut files = vec![
        (script, place.join("evidence.py")),
        (library, place.join("dlpack_testing.abi3.so")),
        (checkout.root().join("examples/cuda-kernel/main.py"), place.join("example_kernel.py")),
        (kernel, place.join("cuda_kernel.abi3.so")),
    ];
    for (name, arguments) in PROGRAMS {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).map_err(unwritable)?;
        let before = stage.log_length()?;
        let mut tests = cargo(checkout);
        tests
            .args(["test", "--no-run"])
            .args(*arguments)
            .arg("--target-dir")
            .arg(&target)
            .env("CARGO_PROFILE_DEV_STRIP", "symbols");
        stage.run(&mut tests)?;
        let programs = executables(&stage.logged_since(before));
        if programs.is_empty() {
            return Err(format!("cargo built no test program for {name}."));
        }
        let copies = programs.into_iter();
        files.extend(copies.map(|(name, built)| (checkout.root().join(built), folder.join(name))));
    }
    // A library that a test of WebGPU loads from a folder beside its program's.
    let mut example = cargo(checkout);
    example.args(["build", "--package=dlpack-vulkan-tests", "--example=delayed_queue"]);
    example.arg("--target-dir").arg(&target).env("CARGO_PROFILE_DEV_STRIP", "symbols");
    stage.run(&mut example)?;
    let example = Path::new("examples").join(EXAMPLE);
    std::fs::create_dir_all(folder.join("examples")).map_err(unwritable)?;
    files.push((target.join("debug").join(&example), folder.join(&example)));
    let mut size = 0_u64;
    for (from, to) in files {
        let copied = std::fs::copy(&from, &to);
        let copied = copied.map_err(|error| {
            format!("{} cannot be copied to {} ({error}).", from.display(), to.display())
        })?;
        size = size.saturating_add(copied);
    }
    let run = place.join("run.sh");
    std::fs::write(&run, RUN).map_err(unwritable)?;
    make_executable(&run).map_err(unwritable)?;
    std::fs::write(place.join("commit.txt"), commit(checkout)).map_err(unwritable)?;
    Ok(size)
}

/// The commit that the bundle is built from, for the record.
fn commit(checkout: &Checkout) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(checkout.root()).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short=8", "HEAD"]), git(&["status", "--porcelain"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => "not known".to_owned(),
    }
}

/// The names and paths of the programs in lines such as
/// `Executable tests/loading.rs (target/debug/deps/loading-0123456789abcdef)`.
fn executables(output: &str) -> Vec<(String, PathBuf)> {
    output
        .lines()
        .filter_map(|line| {
            let (source, path) = line.trim_start().strip_prefix("Executable ")?.split_once(" (")?;
            let path = PathBuf::from(path.strip_suffix(')')?);
            let file = path.file_name()?.to_str()?;
            let (name, _hash) = file.rsplit_once('-')?;
            let name = name.to_owned();
            (!source.starts_with("unittests ")).then_some((name, path))
        })
        .collect()
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::executables;

    #[test]
    fn test_programs_are_named_by_cargo() {
        let output = "   Compiling dlpack-gpu-tests v0.1.0\n\
            \x20 Executable unittests src/lib.rs (target/x/debug/deps/dlpack_gpu_tests-21a6)\n\
            \x20 Executable tests/cuda_memory.rs (target/x/debug/deps/cuda_memory-5060)\n";
        let path = "target/x/debug/deps/cuda_memory-5060".into();
        assert_eq!(executables(output), [("cuda_memory".to_owned(), path)]);
    }
}
