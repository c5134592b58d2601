//! Whether the two crates and the wheels can be published: quickly in `cargo xtask test --full`, and
//! thoroughly, with tools that take minutes to build, by `cargo xtask publishable`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Context, Step};
use crate::contribute::checks;
use crate::copy_sources::copy_sources;
use crate::quality::docs_rs;
use crate::quality::nightly::TOOLCHAIN;
use crate::quality::wheels;
use crate::report::{Ending, Stop, missing};
use crate::run::{Stage, answer_of, cargo, cargo_of};
use crate::tools;
use crate::venv::Packages;

const STEPS: &[Step] = &[
    ("python environment", context::python_environment),
    ("release checklist", checklist),
    ("packages", packages),
    ("wheels", wheels::step),
    ("docs without python", docs_rs::step),
    ("cargo-deny", checks::cargo_deny),
    ("semantic versions", semver),
    ("features, two at a time", powerset),
    ("oldest dependencies", minimal_versions),
];

/// Runs all of them; the exit code says whether any failed.
pub(crate) fn publishable(checkout: Checkout) -> Outcome<ExitCode> {
    context::run(checkout, STEPS, Packages::Base)
}

/// What a maintainer fills in by hand before the first release. Open items are a skip that lists them,
/// and a failure where `DLPACK_REQUIRE` names `release`.
fn checklist(context: &Context, _: &mut Stage) -> Ending {
    let read = |file: &str| {
        let path = context.checkout.root().join(file);
        fs::read_to_string(&path).map_err(|error| format!("{file} cannot be read ({error})."))
    };
    let changes = answer_of("git", &["status", "--porcelain"]);
    let mut open = Vec::new();
    for (item, is_open) in [
        ("`repository` in Cargo.toml", !read("Cargo.toml")?.contains("\nrepository = ")),
        ("a date in CHANGELOG.md", read("CHANGELOG.md")?.contains("## [Unreleased] \u{2014} ")),
        ("an address in SECURITY.md", read("SECURITY.md")?.contains("adds an address here")),
        ("a team in .github/CODEOWNERS", read(".github/CODEOWNERS")?.contains("@example/")),
        ("a commit of all changes", changes.is_none_or(|changes| !changes.trim().is_empty())),
    ] {
        open.extend(is_open.then_some(item));
    }
    for (folder, _) in wheels::tools(&context.checkout)? {
        let manifest = fs::read_to_string(folder.join("pyproject.toml")).unwrap_or_default();
        if !manifest.contains("[project.urls]") {
            open.push("`[project.urls]` in the pyproject.toml of each tool");
            break;
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    missing("release", format!("the release still needs {}", open.join(", ")))
}

/// Both crates, packed and built out of their packages.
pub(crate) fn packages(context: &Context, stage: &mut Stage) -> Ending {
    // Cargo extracts the packed `dlpack-traits` into a cache that it finds again by the path
    // of the target directory, and does not extract a changed package of the same version.
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    let target = context.checkout.target().join(format!("packages-{now}"));
    let mut command = cargo(&context.checkout);
    command.args(["publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]);
    command.arg("--target-dir").arg(&target);
    let published = stage.run(&mut command);
    _ = fs::remove_dir_all(target);
    published?;
    for package in ["dlpack-derive", "dlpack-traits"] {
        let mut list = cargo(&context.checkout);
        let output =
            list.args(["package", "--list", "--allow-dirty", "--package", package]).output();
        let listed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let listed = listed.unwrap_or_default();
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml"] {
            if !listed.lines().any(|line| line == file) {
                return Err(Stop::Failed(format!("the package of {package} has no {file}.")));
            }
        }
    }
    Ok(())
}

/// Compares the interface with the last release, and checks that the version number matches
/// the change.
fn semver(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let Some(last) = answer_of("git", &tag) else {
        return missing("semver", "there is no release to compare with (no tag v*)".to_owned());
    };
    let Ok(folder) = tools::ensure(checkout, "cargo-semver-checks", stage) else {
        return missing("semver", "cargo-semver-checks cannot be installed".to_owned());
    };
    let mut command = tools::with_first(&folder, cargo(checkout));
    command
        .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
        .args(["semver-checks", "--package", "dlpack-traits", "--all-features", "--baseline-rev"])
        .arg(last.trim());
    Ok(stage.run(&mut command)?)
}

/// Every feature alone, and beside every other.
fn powerset(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let Ok(folder) = tools::ensure(checkout, "cargo-hack", stage) else {
        return missing("cargo-hack", "cargo-hack cannot be installed".to_owned());
    };
    let mut command = tools::with_first(&folder, cargo(checkout));
    command
        .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
        .env("RUSTFLAGS", "--deny=warnings")
        .env("CARGO_TARGET_DIR", checkout.target().join("powerset"))
        .args(["hack", "check", "--package", "dlpack-traits", "--lib"])
        .args(["--feature-powerset", "--depth", "2"]);
    Ok(stage.run(&mut command)?)
}

/// The oldest version of each dependency that the manifests allow.
fn minimal_versions(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    if answer_of("rustup", &["run", TOOLCHAIN, "cargo", "--version"]).is_none() {
        return missing("minimal-versions", format!("there is no toolchain {TOOLCHAIN}"));
    }
    let copy: PathBuf = checkout.target().join("minimal-versions");
    copy_sources(checkout.root(), &copy, stage)?;
    alone(&copy.join("Cargo.toml"))?;
    let mut update = cargo_of(checkout, TOOLCHAIN);
    update.current_dir(&copy).args(["update", "-Zdirect-minimal-versions"]);
    stage.run(&mut update)?;
    let mut check = cargo(checkout);
    check
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", copy.with_extension("target"))
        .env("PYO3_PYTHON", &context.environment(stage)?.interpreter.executable)
        .args(["check", "--package", "dlpack-traits", "--all-features"]);
    Ok(stage.run(&mut check)?)
}

/// Leaves the two crates in the workspace: what the tests need is newer.
fn alone(manifest: &Path) -> Outcome {
    let failed = |error| format!("{} cannot be changed ({error}).", manifest.display());
    let text = std::fs::read_to_string(manifest).map_err(failed)?;
    let mut rest = text.as_str();
    let mut changed = String::new();
    while let Some((before, after)) = rest.split_once("members = [") {
        let (_, after) = after.split_once(']').unwrap_or(("", after));
        changed += before;
        changed += "members = [\"dlpack-derive\", \"dlpack-traits\"]";
        rest = after;
    }
    changed += rest;
    std::fs::write(manifest, changed).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The pages that package registries show.
    const PAGES: [&str; 4] = [
        "dlpack-derive/README.md",
        "dlpack-traits/README.md",
        "tools/conformance/README.md",
        "tools/doctor/README.md",
    ];

    /// The targets of the links and pictures in a page that are not absolute addresses.
    fn relative_links(page: &str) -> Vec<&str> {
        let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.filter(|target| !target.starts_with("https://")).collect()
    }

    #[test]
    fn pages_of_packages_have_no_relative_links() {
        assert_eq!(
            relative_links("[a](docs/a.md) [b](https://b) ![c](c.svg)"),
            ["docs/a.md", "c.svg"]
        );
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for page in PAGES {
            let text = std::fs::read_to_string(root.join(page)).expect(page);
            assert_eq!(relative_links(&text), Vec::<&str>::new(), "{page}");
        }
    }

    #[test]
    fn published_manifests_name_a_page_in_their_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut count = 0;
        for page in PAGES {
            let folder = root.join(page.trim_end_matches("README.md"));
            for manifest in ["Cargo.toml", "pyproject.toml"] {
                let Ok(text) = std::fs::read_to_string(folder.join(manifest)) else { continue };
                if text.contains("publish = false") {
                    continue;
                }
                assert!(text.contains("\nreadme = \"README.md\"\n"), "{page}: {manifest}");
                count += 1;
            }
        }
        assert_eq!(count, 5, "three crates and two Python packages are published");
    }
}
