//! Libraries that are looked for until they are found: [`Loaded`].

use core::mem::ManuallyDrop;
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

use super::library::{already_loaded, open};
use crate::error::Error;

/// A library that is looked for at each call until it is found, for a static: its
/// functions, and what they say when they are called first.
pub(super) struct Loaded<Calls: 'static, Runtime: 'static> {
    names: &'static [&'static str],
    functions: unsafe fn(&Library) -> Result<Calls, Error>,
    begin: fn(&'static Calls) -> Result<Runtime, Error>,
    calls: OnceLock<Calls>,
    runtime: OnceLock<Runtime>,
}

impl<Calls, Runtime> Loaded<Calls, Runtime> {
    /// # Safety
    ///
    /// 1. `functions` may be called with a library of those names, or with one that
    ///    whoever calls [`load`](Self::load) answers for. Its result may be used for
    ///    as long as the library stays loaded.
    pub(super) const unsafe fn new(
        names: &'static [&'static str],
        functions: unsafe fn(&Library) -> Result<Calls, Error>,
        begin: fn(&'static Calls) -> Result<Runtime, Error>,
    ) -> Self {
        Self { names, functions, begin, calls: OnceLock::new(), runtime: OnceLock::new() }
    }

    /// The runtime, which is loaded by the first call. Where there is none, the
    /// next call looks again.
    pub(super) fn runtime(&'static self) -> Result<&'static Runtime, Error> {
        match self.runtime.get() {
            Some(runtime) => Ok(runtime),
            None => self.start(|| open(self.names)),
        }
    }

    /// Loads the library from a file, unless this was done before; or, where `any` will
    /// do, unless the process has one of its names.
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
            // SAFETY: loading the library, which by 1 this is, runs its
            // initialisers: that is what somebody who asks for its devices wants.
            let from_file = || unsafe { Library::new(file) }.ok();
            loaded.or_else(from_file).ok_or(Error::NoLibrary { name })
        })
    }

    /// Two threads may come here at once. They find the same library, and what the
    /// second makes of it is dropped.
    fn start(
        &'static self,
        find: impl FnOnce() -> Result<Library, Error>,
    ) -> Result<&'static Runtime, Error> {
        let calls = if let Some(calls) = self.calls.get() {
            calls
        } else {
            let library = find()?;
            // SAFETY: by 1 of `new`, and of `load`.
            let calls = unsafe { (self.functions)(&library) }?;
            // What it started may go on: it is never closed.
            let _stays = ManuallyDrop::new(library);
            self.calls.get_or_init(|| calls)
        };
        let runtime = (self.begin)(calls)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}
