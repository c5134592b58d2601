//! Lazily loaded libraries: [`Loaded`].
//!
//! A library that was called is never closed, even if it reports no device: it may have
//! started threads or installed handlers. If the number of devices can change (oneAPI,
//! OpenCL), the next call queries the same library again.

use core::mem::ManuallyDrop;
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

use super::library::{already_loaded, open};
use crate::device::Device;
use crate::error::Error;

/// A library that is loaded lazily, for a static: its functions, and the runtime that
/// `begin` makes of them. A failed load is tried again by the next call.
pub(super) struct Loaded<Calls: 'static, Runtime: 'static> {
    device: Device,
    names: &'static [&'static str],
    functions: unsafe fn(&Library, Device, usize) -> Result<Calls, Error>,
    begin: fn(&'static Calls) -> Result<Runtime, Error>,
    calls: OnceLock<Calls>,
    runtime: OnceLock<Runtime>,
}

impl<Calls, Runtime> Loaded<Calls, Runtime> {
    /// # Safety
    ///
    /// 1. `functions` may be called with a library of those names, or with one for which
    ///    the caller of [`load`](Self::load) has made the promise of `load`. Its result may
    ///    be used for as long as the library stays loaded.
    pub(super) const unsafe fn new(
        device: Device,
        names: &'static [&'static str],
        functions: unsafe fn(&Library, Device, usize) -> Result<Calls, Error>,
        begin: fn(&'static Calls) -> Result<Runtime, Error>,
    ) -> Self {
        Self { device, names, functions, begin, calls: OnceLock::new(), runtime: OnceLock::new() }
    }

    /// Returns the runtime, which the first call loads. A failed load is not cached.
    pub(super) fn runtime(&'static self) -> Result<&'static Runtime, Error> {
        match self.runtime.get() {
            Some(runtime) => Ok(runtime),
            None => self.start(|| open(self.names)),
        }
    }

    /// Loads the library from a file, unless it is loaded already; or, if `any` is set,
    /// uses a library of one of its names that the process has loaded.
    ///
    /// # Safety
    ///
    /// 1. The file, if there is one, is the library.
    pub(super) unsafe fn load(
        &'static self,
        file: &Path,
        any: bool,
    ) -> Result<&'static Runtime, Error> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        self.start(|| {
            let name = self.names.first().copied().unwrap_or_default();
            let mut names = self.names.iter().filter(|_| any);
            let loaded = names.find_map(|name| already_loaded(name));
            // SAFETY: by our caller's 1 this is the library. Loading it runs its
            // initializers, which the caller wants when it uses one of its devices.
            let from_file = || unsafe { Library::new(file) }.ok();
            loaded.or_else(from_file).ok_or(Error::NoLibrary { name })
        })
    }

    /// Two threads may run this at once. They find the same library, and the second result
    /// is dropped.
    fn start(
        &'static self,
        find: impl FnOnce() -> Result<Library, Error>,
    ) -> Result<&'static Runtime, Error> {
        let calls = if let Some(calls) = self.calls.get() {
            calls
        } else {
            let library = find()?;
            // SAFETY: 1. By 1 of `new`, and of `load`.
            let calls = unsafe { (self.functions)(&library, self.device, 0) }?;
            // The library is never closed, because threads or callbacks that it started may
            // still run.
            let _stays = ManuallyDrop::new(library);
            self.calls.get_or_init(|| calls)
        };
        let runtime = (self.begin)(calls)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}
