//! Whether the two crates and the wheels can be published, and a documentation host can build the
//! pages of the crates.

use std::path::Path;
use std::process::Command;
use std::time::UNIX_EPOCH;

use super::wheels;
use crate::checkout::{copy_sources, link, read, root, target, write};
use crate::command::{NIGHTLY, Words as _, answer_of, cargo, cargo_of};
use crate::context::Context;
use crate::outcome::{Ending, Outcome, missing, need};
use crate::tools;

/// The crates that a documentation host builds, with the folders of their manifests.
const CRATES: [(&str, &str); 3] = [
    ("dlpack-derive", "dlpack-derive"),
    ("dlpack-traits", "dlpack-traits"),
    ("dlpack-doctor", "tools/doctor"),
];
/// The programs that their build requires.
const REQUIRED: [&str; 4] = ["cargo", "rustc", "rustdoc", "cc"];
/// Programs by which `cc` links build scripts, where its own folders do not contain them.
const LINKERS: [&str; 4] = ["as", "ld", "ld.lld", "lld"];
/// The variables that the build keeps: where cargo and rustup have their files.
const KEPT: [&str; 5] = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR"];
/// The section of a manifest that the documentation host reads.
const SECTION: &str = "[package.metadata.docs.rs]\n";
/// All features but `stubs`, which needs a later PyO3.
const OLD_FEATURES: &str = "bytes,cuda,cudarc,derive,half,memmap2,ndarray,ndarray_0_16,num-complex,\
    oneapi,opencl,pyo3,rayon,rocm,std,testing,vulkan,webgpu";

/// What a maintainer fills in by hand before the first release. Open items are a skip that lists them,
/// and a failure where `DLPACK_REQUIRE` names `release`.
pub(crate) fn checklist(_: &Context) -> Ending {
    let has = |file: &str, text: &str| read(&root().join(file)).map(|it| it.contains(text));
    let changes = answer_of("git", &["status", "--porcelain"]);
    let mut open = Vec::new();
    for (item, is_open) in [
        ("`repository` in Cargo.toml", !has("Cargo.toml", "\nrepository = ")?),
        ("a date in CHANGELOG.md", has("CHANGELOG.md", "## [Unreleased] \u{2014} ")?),
        ("an address in SECURITY.md", has("SECURITY.md", "adds an address here")?),
        ("a team in .github/CODEOWNERS", has(".github/CODEOWNERS", "@example/")?),
        ("a commit of all changes", changes.is_none_or(|changes| !changes.trim().is_empty())),
    ] {
        open.extend(is_open.then_some(item));
    }
    let has_addresses = |tool: wheels::Tool| {
        read(&tool.folder.join("pyproject.toml")).is_ok_and(|it| it.contains("[project.urls]"))
    };
    if !wheels::tools().into_iter().all(has_addresses) {
        open.push("`[project.urls]` in the pyproject.toml of each tool");
    }
    let advice = format!("the release still needs {}", open.join(", "));
    need(open.is_empty(), "release", &advice)
}

/// Both crates, packed and built out of their packages.
pub(crate) fn packages(context: &Context) -> Ending {
    // Cargo extracts the packed `dlpack-traits` into a cache that it finds again by the path
    // of the target directory, and does not extract a changed package of the same version.
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    let folder = target(format!("packages-{now}"));
    let mut command = cargo("publish --workspace --dry-run --locked --allow-dirty --target-dir");
    let published = context.run(command.arg(&folder));
    _ = std::fs::remove_dir_all(folder);
    published?;
    for package in ["dlpack-derive", "dlpack-traits"] {
        let line = format!("package --list --allow-dirty --package {package}");
        let listed = context.output_of(&mut cargo(&line))?;
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml"] {
            if !listed.lines().any(|line| line == file) {
                return Err(format!("the package of {package} has no {file}.").into());
            }
        }
    }
    Ok(())
}

/// Compares the interface with the last release, and checks that the version number matches
/// the change.
pub(crate) fn semver(context: &Context) -> Ending {
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let Some(last) = answer_of("git", &tag) else {
        return missing("semver", "there is no release to compare with (no tag v*)");
    };
    let Ok(folder) = tools::cargo_tool(context, "cargo-semver-checks") else {
        return missing("semver", "cargo-semver-checks cannot be installed");
    };
    let line = "semver-checks --package dlpack-traits --all-features --baseline-rev";
    Ok(context.run(cargo(line).finds_programs_in(&folder).arg(last.trim()))?)
}

/// Every feature alone, and beside every other.
pub(crate) fn powerset(context: &Context) -> Ending {
    let folder = tools::cargo_tool(context, "cargo-hack")?;
    let line = "RUSTFLAGS=--deny=warnings hack check --package dlpack-traits --lib \
                --feature-powerset --depth 2";
    Ok(context.run(cargo(line).finds_programs_in(&folder).builds_in("powerset"))?)
}

/// The oldest version of each dependency that the manifests allow. The copy of the workspace has the
/// two crates only: what the tests need is newer.
pub(crate) fn minimal_versions(context: &Context) -> Ending {
    tools::nightly("minimal-versions")?;
    let copy = target("minimal-versions");
    copy_sources(root(), &copy)?;
    let manifest = read(&copy.join("Cargo.toml"))?;
    let mut parts = manifest.split("members = [");
    let mut alone = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(']').unwrap_or(("", part));
        alone += "members = [\"dlpack-derive\", \"dlpack-traits\"]";
        alone += rest;
    }
    write(&copy.join("Cargo.toml"), alone)?;
    let mut update = cargo_of(NIGHTLY, "update -Zdirect-minimal-versions");
    context.run(update.current_dir(&copy))?;
    let mut check = cargo(&format!("check --package dlpack-traits --features={OLD_FEATURES}"));
    Ok(context.run(check.current_dir(&copy).builds_in("minimal-versions.target"))?)
}

/// Builds the documentation of each crate with the features that its manifest names, in an empty
/// environment. `PATH` is a folder with links to cargo and a linker, so that build scripts find
/// neither an interpreter nor `nvcc`.
pub(crate) fn docs_without_python(context: &Context) -> Ending {
    // Another system's linker needs more than a folder of links.
    need(cfg!(target_os = "linux"), "docs-rs", "the empty environment is made on Linux only")?;
    let programs = target("docs-rs/programs");
    link_programs(&programs)?;
    context.run(&mut cargo("fetch --locked"))?;
    for (package, folder) in CRATES {
        let manifest = read(&root().join(folder).join("Cargo.toml"))?;
        let mut command = Command::new(programs.join("cargo"));
        command.env_clear().env("PATH", &programs).current_dir(root());
        for name in KEPT {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.words(
            "CARGO_TERM_COLOR=never RUSTDOCFLAGS=--deny=warnings doc --no-deps --lib --locked \
             --offline --target-dir=target/docs-rs --package",
        );
        context.run(command.arg(package).args(docs_arguments(&manifest)))?;
    }
    Ok(())
}

/// The arguments of `cargo doc` for the section of a manifest.
fn docs_arguments(manifest: &str) -> Vec<String> {
    let section = manifest.split_once(SECTION).map(|(_, rest)| rest).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let mut arguments = Vec::new();
    for line in section.lines() {
        let (name, value) = line.split_once(" = ").unwrap_or_default();
        let strings = value.split('"').skip(1).step_by(2);
        match name {
            "all-features" if value == "true" => arguments.push("--all-features".to_owned()),
            "features" => {
                arguments.extend(strings.map(|feature| format!("--features={feature}")));
            }
            "cargo-args" => arguments.extend(strings.map(str::to_owned)),
            _ => {}
        }
    }
    arguments
}

/// Fills the folder with links to the programs of the caller's `PATH`.
fn link_programs(folder: &Path) -> Outcome {
    drop(std::fs::remove_dir_all(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in REQUIRED.into_iter().chain(LINKERS) {
        let mut programs = std::env::split_paths(&path).map(|folder| folder.join(name));
        match programs.find(|program| program.is_file()) {
            Some(program) => link(&program, &folder.join(name))?,
            None if REQUIRED.contains(&name) => return Err(format!("no `{name}` is on PATH.")),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages that package registries show, and how many manifests name each.
    const PAGES: [(&str, usize); 4] =
        [("dlpack-derive", 1), ("dlpack-traits", 1), ("tools/conformance", 1), ("tools/doctor", 2)];

    #[test]
    fn pages_of_packages_are_named_and_have_no_relative_links() {
        for (folder, expected) in PAGES {
            let folder = root().join(folder);
            let page = read(&folder.join("README.md")).expect("a page");
            let mut links = page.split("](").skip(1);
            assert!(links.all(|link| link.starts_with("https://")), "{folder:?}");
            let manifests = ["Cargo.toml", "pyproject.toml"].map(|name| folder.join(name));
            let texts = manifests.iter().filter_map(|manifest| read(manifest).ok());
            let published = texts.filter(|text| !text.contains("publish = false"));
            let named = published.filter(|text| text.contains("\nreadme = \"README.md\"\n"));
            assert_eq!(named.count(), expected, "{folder:?}");
        }
    }

    #[test]
    fn documentation_of_crates_that_use_pyo3_needs_no_interpreter() {
        let section = "all-features = true\n# A comment.\nfeatures = [\"a/b\", \"c\"]\n\
                       cargo-args = [\"--config=d='1'\"]\n";
        let manifest = format!("[package]\n\n{SECTION}{section}\n[lints]\nfeatures = [\"d\"]\n");
        let expected = ["--all-features", "--features=a/b", "--features=c", "--config=d='1'"];
        assert_eq!(docs_arguments(&manifest), expected);
        for folder in ["dlpack-traits", "tools/doctor"] {
            let text = read(&root().join(folder).join("Cargo.toml")).expect(folder);
            assert!(docs_arguments(&text).join(" ").contains("pyo3/abi3"), "{folder}");
        }
    }
}
