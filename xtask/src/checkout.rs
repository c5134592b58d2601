//! The files of this checkout.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::outcome::Outcome;

/// The folder of the root `Cargo.toml`, of the checkout whose `cargo xtask` was called.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = package.as_deref().and_then(Path::parent);
        root.expect("run this as `cargo xtask`, inside the checkout").to_owned()
    })
}

/// A path below `target/`, where everything made here is.
pub(crate) fn target(path: impl AsRef<Path>) -> PathBuf {
    root().join("target").join(path)
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read ({error}).", path.display()))
}

/// Writes a file, and the folders above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("{} cannot be written ({error}).", path.display()))
}

/// Makes a folder, and the folders above it.
pub(crate) fn make_folder(path: &Path) -> Outcome {
    std::fs::create_dir_all(path)
        .map_err(|error| format!("{} cannot be made ({error}).", path.display()))
}

/// A path beside another, for a file that replaces it. Steps run at the same time.
fn fresh(path: &Path) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}", std::process::id()))
}

/// Copies a file, and replaces an older one in one step: a running program may have it mapped.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Outcome {
    let fresh = fresh(to);
    make_folder(to.parent().unwrap_or(to))?;
    std::fs::copy(from, &fresh).and_then(|_| std::fs::rename(&fresh, to)).map_err(|error| {
        format!("{} cannot be copied to {} ({error}).", from.display(), to.display())
    })
}

/// Makes `link` a link to `place`, and replaces an older link in one step. A system without links
/// gets a copy of a file.
pub(crate) fn link(place: &Path, link: &Path) -> Outcome {
    if std::fs::read_link(link).is_ok_and(|old| old == place) {
        return Ok(());
    }
    let fresh = fresh(link);
    make_folder(link.parent().unwrap_or(link))?;
    symlink(place, &fresh).and_then(|()| std::fs::rename(&fresh, link)).map_err(|error| {
        format!("{} cannot be a link ({error}); remove it, then run this again.", link.display())
    })
}

#[cfg(unix)]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(place, link)
}

#[cfg(windows)]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    if place.is_dir() {
        std::os::windows::fs::symlink_dir(place, link)
    } else {
        std::fs::copy(place, link).map(drop)
    }
}

/// The entry of a folder whose name begins so.
pub(crate) fn entry(folder: &Path, begin: &str) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    let is_wanted = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin))
    };
    paths.find(is_wanted).ok_or_else(|| format!("{} has no {begin}*.", folder.display()))
}

/// Whether the name of a file ends with `.` and an extension.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|it| it == extension)
}

/// All files below a folder in the order of their names, without what is built or installed.
pub(crate) fn files_below(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let unreadable = |error| format!("{} cannot be read ({error}).", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !path.is_dir() {
            files.push(path);
        } else if !["target", ".git", ".venv", "__pycache__", "node_modules"].contains(&&*name) {
            files.extend(files_below(&path)?);
        }
    }
    files.sort();
    Ok(files)
}

/// Makes `copy` hold the sources below `from` that git would, and nothing else. Files that are
/// equal keep their time, so that cargo builds only what changed.
pub(crate) fn copy_sources(from: &Path, copy: &Path) -> Outcome {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]).current_dir(from);
    let listing = git.output().ok().filter(|output| output.status.success());
    let listing = listing.ok_or("git does not list the sources; install git.")?;
    let mut wanted = HashSet::new();
    for name in String::from_utf8_lossy(&listing.stdout).split_terminator('\0') {
        // A file that git tracks may have been removed.
        let Ok(bytes) = std::fs::read(from.join(name)) else { continue };
        let path = copy.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(&bytes) {
            write(&path, &bytes)?;
        }
        wanted.insert(path);
    }
    for path in files_below(copy)?.into_iter().filter(|path| !wanted.contains(path)) {
        std::fs::remove_file(&path)
            .map_err(|error| format!("{} cannot be removed ({error}).", path.display()))?;
    }
    Ok(())
}
