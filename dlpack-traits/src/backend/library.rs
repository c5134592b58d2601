//! Finding a vendor's library, and functions in it.

use libloading::Library;

use crate::device::Device;
use crate::error::Error;

/// The first of these libraries that the machine has. One that the process has
/// loaded is preferred: two runtimes of one vendor know nothing of each other.
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub(super) fn open(names: &'static [&'static str]) -> Result<Library, Error> {
    let mut loaded = names.iter().filter_map(|name| already_loaded(name));
    // SAFETY: loading a vendor's runtime runs its initialisers, which is what
    // somebody who asks for its devices wants.
    let mut loadable = names.iter().filter_map(|name| unsafe { Library::new(name) }.ok());
    let name = names.first().copied().unwrap_or_default();
    loaded.next().or_else(|| loadable.next()).ok_or(Error::NoLibrary { name })
}

#[cfg(target_os = "linux")]
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub(super) fn already_loaded(name: &str) -> Option<Library> {
    use libloading::os::unix;

    /// `RTLD_NOLOAD` on Linux.
    const NO_LOAD: i32 = 4;
    // SAFETY: nothing is loaded, so nothing runs.
    let library = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | NO_LOAD) };
    library.ok().map(Library::from)
}

#[cfg(not(target_os = "linux"))]
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub(super) fn already_loaded(_: &str) -> Option<Library> {
    None
}

/// A function of the library.
///
/// # Safety
///
/// 1. `F` is the type of a pointer to the function of that name, which is never NULL.
/// 2. The library stays loaded as long as the function is used.
pub(super) unsafe fn function<F: Copy>(
    library: &Library,
    device: Device,
    name: &'static str,
) -> Result<F, Error> {
    // SAFETY: by 1 and 2. A pointer that may be NULL has the same size, and what is
    // NULL is no function: a broken library may have such a symbol.
    let symbol = unsafe { library.get::<Option<F>>(name.as_bytes()) };
    symbol.ok().and_then(|symbol| *symbol).ok_or(Error::Unsupported { device, what: name })
}
