//! Opens a vendor's library and looks up its functions.

use libloading::Library;

use crate::device::Device;
use crate::error::Error;

/// Opens the first of these libraries that the machine has. A library that the process has
/// already loaded is preferred, because two runtimes of one vendor share no state.
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub(super) fn open(names: &'static [&'static str]) -> Result<Library, Error> {
    let mut loaded = names.iter().filter_map(|name| already_loaded(name));
    // SAFETY: loading a vendor's runtime runs its initializers, which the caller wants when
    // it uses one of its devices.
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
    // SAFETY: with `RTLD_NOLOAD` nothing is loaded, so no initializer runs.
    let library = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | NO_LOAD) };
    library.ok().map(Library::from)
}

#[cfg(not(target_os = "linux"))]
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub(super) fn already_loaded(_: &str) -> Option<Library> {
    None
}

/// Looks up a function of the library.
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
    // SAFETY: by our caller's 1 and 2. `Option<F>` has the same size as `F`, and represents
    // NULL, which a broken library may return for a symbol.
    let symbol = unsafe { library.get::<Option<F>>(name.as_bytes()) };
    symbol.ok().and_then(|symbol| *symbol).ok_or(Error::Unsupported { device, what: name })
}
