//! Which library a function belongs to.

use crate::report::Place;

/// The function at an address, by the name and the library that the loader knows.
pub(crate) fn of(address: u64) -> Place {
    let (library, symbol) = loader::ask(address);
    Place { address, library, symbol }
}

#[cfg(unix)]
mod loader {
    use core::ffi::{CStr, c_char};
    use core::mem::MaybeUninit;

    /// The file of the library, and the symbol if it is one that is exported.
    pub(super) fn ask(address: u64) -> (Option<String>, Option<String>) {
        let Ok(address) = usize::try_from(address) else { return (None, None) };
        let at = core::ptr::with_exposed_provenance::<libc::c_void>(address);
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the address is only compared with those of libraries, and `info`
        // may be written.
        if unsafe { libc::dladdr(at, info.as_mut_ptr()) } == 0 {
            return (None, None);
        }
        // SAFETY: all bits zero is a valid `Dl_info`, and the call wrote one.
        let info = unsafe { info.assume_init() };
        // Of a private function it names a public one before it, which is another.
        let is_exact = info.dli_saddr.addr() == address;
        let symbol = if is_exact { text(info.dli_sname) } else { None };
        (text(info.dli_fname), symbol)
    }

    fn text(from: *const c_char) -> Option<String> {
        if from.is_null() {
            return None;
        }
        // SAFETY: what `dladdr` gives is NULL or a C string of the loader's, which
        // stays as long as the library does.
        Some(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
    }
}

#[cfg(not(unix))]
mod loader {
    /// This system's loader is not asked.
    pub(super) fn ask(_: u64) -> (Option<String>, Option<String>) {
        (None, None)
    }
}
