//! Whether a documentation host can build the pages of the published crates: with the features
//! that their manifests name, on a machine without Python and without CUDA.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Outcome, read};
use crate::context::Context;
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, cargo};

/// The crates, with the folders of their manifests.
const CRATES: [(&str, &str); 3] = [
    ("dlpack-derive", "dlpack-derive"),
    ("dlpack-traits", "dlpack-traits"),
    ("dlpack-doctor", "tools/doctor"),
];
/// The programs that the build requires.
const REQUIRED: [&str; 4] = ["cargo", "rustc", "rustdoc", "cc"];
/// Programs by which `cc` links build scripts, where its own folders do not contain them.
const LINKERS: [&str; 4] = ["as", "ld", "ld.lld", "lld"];
/// The variables that the build keeps: where cargo and rustup have their files.
const KEPT: [&str; 5] = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR"];
/// The section of a manifest that the documentation host reads.
const SECTION: &str = "[package.metadata.docs.rs]\n";

/// Builds the documentation of each crate in an empty environment. `PATH` is a folder with
/// links to cargo and a linker, so that build scripts find neither an interpreter nor `nvcc`.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    // Another system's linker needs more than a folder of links.
    if !cfg!(target_os = "linux") {
        return missing("docs-rs", "the empty environment is made on Linux only".to_owned());
    }
    let target = checkout.target().join("docs-rs");
    let programs = target.join("programs");
    link_programs(&programs)?;
    stage.run(cargo(checkout).args(["fetch", "--locked"]))?;
    for (package, folder) in CRATES {
        let manifest = checkout.root().join(folder).join("Cargo.toml");
        let text = read(&manifest)?;
        let mut command = empty(Command::new(programs.join("cargo")), &programs);
        command
            .current_dir(checkout.root())
            .env("RUSTDOCFLAGS", "--deny=warnings")
            .args(["doc", "--no-deps", "--lib", "--locked", "--offline", "--package", package])
            .args(arguments(&text))
            .arg("--target-dir")
            .arg(&target);
        stage.run(&mut command).map_err(|_| {
            Stop::Failed(format!(
                "the documentation of {package} does not build without Python; see {}.",
                stage.log_path().display()
            ))
        })?;
    }
    Ok(())
}

/// The arguments of `cargo doc` for the section of a manifest.
fn arguments(manifest: &str) -> Vec<String> {
    let section = manifest.split_once(SECTION).map(|(_, rest)| rest).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let mut arguments = Vec::new();
    for line in section.lines() {
        match line.split_once(" = ") {
            Some(("all-features", "true")) => arguments.push("--all-features".to_owned()),
            Some(("features", list)) => {
                arguments.push(format!("--features={}", strings(list).join(",")));
            }
            Some(("cargo-args", list)) => {
                arguments.extend(strings(list).into_iter().map(str::to_owned));
            }
            _ => {}
        }
    }
    arguments
}

/// The strings of a list in TOML.
fn strings(list: &str) -> Vec<&str> {
    list.split('"').skip(1).step_by(2).collect()
}

/// The command without the variables of the caller, such as `PYO3_PYTHON` and `VIRTUAL_ENV`.
fn empty(mut command: Command, programs: &Path) -> Command {
    command.env_clear().env("PATH", programs).env("CARGO_TERM_COLOR", "never");
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Fills the folder with links to the programs of the caller's `PATH`.
fn link_programs(folder: &Path) -> Outcome {
    let failed = |error| format!("{} cannot be written ({error}).", folder.display());
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).map_err(failed)?;
    for name in REQUIRED.into_iter().chain(LINKERS) {
        match found(name) {
            Some(program) => link(&program, &folder.join(name)).map_err(failed)?,
            None if REQUIRED.contains(&name) => {
                return Err(format!("there is no `{name}` on PATH."));
            }
            None => {}
        }
    }
    Ok(())
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(unix)]
fn link(program: &Path, place: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, place)
}

#[cfg(not(unix))]
fn link(program: &Path, place: &Path) -> std::io::Result<()> {
    fs::copy(program, place).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_the_section() {
        let section = "all-features = true\n# A comment.\nfeatures = [\"a/b\", \"c\"]\n\
                       cargo-args = [\"--config=d='1'\"]\n";
        let manifest = format!("[package]\n\n{SECTION}{section}\n[lints]\nfeatures = [\"d\"]\n");
        assert_eq!(arguments(&manifest), ["--all-features", "--features=a/b,c", "--config=d='1'"]);
        assert_eq!(arguments("[package]\n"), <[&str; 0]>::default());
    }

    #[test]
    fn the_manifests_of_crates_that_use_pyo3_name_features() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in ["dlpack-traits", "tools/doctor"] {
            let text = fs::read_to_string(root.join(folder).join("Cargo.toml")).expect(folder);
            let found = arguments(&text).join(" ");
            assert!(found.contains("pyo3/abi3"), "{folder}: `{found}` requires an interpreter");
        }
    }
}
