//! A second copy of the sources, to be changed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::Outcome;
use crate::run::Stage;

/// Makes `copy` hold the sources that git would, and nothing else. Files that
/// are equal already keep their time, so that cargo builds only what changed.
pub(crate) fn copy_sources(root: &Path, copy: &Path, stage: &mut Stage) -> Outcome {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output();
    let listing = listing.ok().filter(|output| output.status.success()).ok_or_else(|| {
        "git does not list the sources; install git, and run this in a checkout.".to_owned()
    })?;
    let names = String::from_utf8_lossy(&listing.stdout).into_owned();
    let mut wanted = HashSet::new();
    for name in names.split_terminator('\0') {
        // A file that git tracks may have been removed.
        let Ok(bytes) = std::fs::read(root.join(name)) else { continue };
        let path = copy.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(&bytes) {
            write(&path, &bytes)?;
        }
        wanted.insert(path);
    }
    stage.note(&format!("{} files copied to {}", wanted.len(), copy.display()));
    remove_others(copy, &wanted)
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    path.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, bytes))
        .map_err(|error| format!("{} cannot be written ({error}).", path.display()))
}

fn remove_others(folder: &Path, wanted: &HashSet<PathBuf>) -> Outcome {
    let unreadable = |error| format!("{} cannot be cleaned ({error}).", folder.display());
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            std::fs::remove_file(&path).map_err(unreadable)?;
        }
    }
    Ok(())
}
