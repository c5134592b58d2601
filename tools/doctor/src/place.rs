//! Which library a function belongs to.

use crate::report::Place;

/// The function at an address: its symbol name and its library, as the dynamic loader
/// reports them.
pub(crate) fn of(address: u64) -> Place {
    let (library, symbol) = loader::ask(address);
    Place { address, library, symbol }
}

#[cfg(unix)]
mod loader {
    use core::ffi::{CStr, c_char};
    use core::mem::MaybeUninit;

    /// The file of the library, and the symbol if it is exported.
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
        // For a private function, the loader reports the nearest public symbol before it.
        let is_exact = info.dli_saddr.addr() == address;
        let symbol = if is_exact { text(info.dli_sname) } else { None };
        (text(info.dli_fname), symbol)
    }

    fn text(from: *const c_char) -> Option<String> {
        if from.is_null() {
            return None;
        }
        // SAFETY: `dladdr` returns NULL or a C string of the loader, which lives as long as
        // the library is loaded.
        Some(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
    }
}

#[cfg(not(unix))]
mod loader {
    /// Symbol look-up is not implemented for this system.
    pub(super) fn ask(_: u64) -> (Option<String>, Option<String>) {
        (None, None)
    }
}
