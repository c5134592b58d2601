//! Skips an interpretation that passed before on this machine: with the same sources, flags and
//! compiler, Miri takes the same course again, because it is isolated from the host.

use std::path::Path;
use std::process::Command;

use crate::checkout::Outcome;
use crate::context::Context;
use crate::report::Ending;
use crate::run::{Stage, answer_of};
use crate::venv::{self, FNV_BASIS, fnv1a};

/// What no test in Rust of this workspace compiles, or compiles only to compare text.
const OTHERS: &[&str] = &[
    ".ci/",
    ".github/",
    "CHANGELOG.md",
    "bench/",
    "docs/",
    "examples/crates/",
    "requirements/",
    "tests/devices/",
    "tests/python/",
    "tools/",
    "ui-tests/",
    "xtask/",
];

/// Runs `body`, unless it passed before with this compiler, these flags, and the sources as they
/// are. Only a body that passed is recorded.
pub(crate) fn unless(
    context: &Context,
    stage: &mut Stage,
    (compiler, flags): (&str, &str),
    body: impl FnOnce(&mut Stage) -> Ending,
) -> Ending {
    let version = answer_of("rustup", &["run", compiler, "rustc", "--version", "--verbose"]);
    let version = version.ok_or_else(|| format!("{compiler} does not tell its version."))?;
    let mut hash = sources(context.checkout.root())?;
    for part in [&version, flags] {
        hash = fnv1a(fnv1a(hash, part.as_bytes()), &[0]);
    }
    let folder = venv::cache_folder(&context.checkout, stage).join("passed");
    let record = folder.join(format!("{hash:016x}"));
    if record.is_file() {
        stage.note("PASSED BEFORE on this machine, with these sources, flags and compiler:");
        stage.note(&format!("remove {} to run it again", record.display()));
        return Ok(());
    }
    body(stage)?;
    let recorded = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&record, flags));
    Ok(recorded.map_err(|error| format!("{} cannot be written ({error}).", record.display()))?)
}

/// A hash of the names and the contents of the sources.
pub(crate) fn sources(root: &Path) -> Outcome<u64> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output();
    let listing = listing.ok().filter(|output| output.status.success()).ok_or_else(|| {
        "git does not list the sources; install git, and run this in a checkout.".to_owned()
    })?;
    let names = String::from_utf8_lossy(&listing.stdout).into_owned();
    let mut names: Vec<&str> =
        names.split_terminator('\0').filter(|name| is_compiled(name)).collect();
    names.sort_unstable();
    names.dedup();
    let mut hash = FNV_BASIS;
    for name in names {
        // A file that git tracks may have been removed.
        let Ok(bytes) = std::fs::read(root.join(name)) else { continue };
        hash = fnv1a(fnv1a(hash, name.as_bytes()), &[0]);
        hash = fnv1a(fnv1a(hash, &bytes.len().to_le_bytes()), &bytes);
    }
    Ok(hash)
}

/// Whether a change of the file can change what a test in Rust does.
fn is_compiled(name: &str) -> bool {
    !OTHERS.iter().any(|other| name.starts_with(other))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{OTHERS, is_compiled, sources};

    #[test]
    fn the_sources_of_the_crates_and_of_their_tests_count() {
        for name in ["Cargo.lock", "dlpack-traits/src/lib.rs", "tests/rust/import.rs", "README.md"]
        {
            assert!(is_compiled(name), "{name}");
        }
        for name in ["docs/testing.md", "tests/python/conftest.py", "xtask/src/main.rs"] {
            assert!(!is_compiled(name), "{name}");
        }
    }

    /// Nothing that these tests compile is below a folder that does not count.
    #[test]
    fn test_programs_include_no_code_that_does_not_count() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_ne!(sources(&root).expect("a checkout"), super::FNV_BASIS);
        let mut left = ["dlpack-traits", "dlpack-derive", "tests/rust", "tests/support"]
            .map(|folder| root.join(folder))
            .to_vec();
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let Ok(source) = std::fs::read_to_string(&path) else { continue };
                let included = ["include!(\"", "#[path = \""]
                    .into_iter()
                    .flat_map(|pattern| source.split(pattern).skip(1));
                for name in included.filter_map(|rest| rest.split_once('"')) {
                    let name = name.0.trim_start_matches("../");
                    let counts = OTHERS.iter().all(|other| !name.starts_with(other));
                    assert!(counts, "{} includes {name}", path.display());
                }
            }
        }
    }
}
