//! A memory-mapped file, for the shapes that use one.

use std::env;
use std::fs::{self, File};

use memmap2::Mmap;

/// Maps a file with that content. The file is then unlinked, except on systems that do
/// not unlink mapped files.
pub(crate) fn map(name: &str, content: &[u8]) -> Mmap {
    let path = env::temp_dir().join(format!("dlpack-{name}-{}", std::process::id()));
    fs::write(&path, content).expect("a temporary file can be written");
    let file = File::open(&path).expect("it can be read");
    // SAFETY: no other code has the file's name, and this program does not write to it
    // again.
    let map = unsafe { Mmap::map(&file) }.expect("it can be mapped");
    let _ = fs::remove_file(&path);
    map
}
