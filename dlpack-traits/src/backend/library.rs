//! A vendor's library: its file ([`open`]), and its functions ([`calls!`](calls)).

#[cfg(any(feature = "cuda", feature = "rocm"))]
use core::ffi::{CStr, c_char};

use libloading::Library;

#[cfg(any(feature = "cuda", feature = "opencl", feature = "rocm"))]
use crate::backend::device_error;
#[cfg(any(feature = "cuda", feature = "rocm"))]
use crate::backend::{MemoryType, append_list::AppendList};
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

/// Defines a table of the C functions of a library, and a method for each, by its kind:
///
/// | kind | the function returns | the method |
/// |---|---|---|
/// | `safe` | an error code, also for invalid arguments, and writes results to references | is safe, and converts the code |
/// | `code` | an error code | converts the code |
/// | `object` | an object, or NULL | returns its owner, with the function of the table that releases it |
/// | `coded` | the same, and writes an error code to its last argument | the same |
/// | `value` | any other value | returns it |
///
/// A function may have a name for each vendor.
macro_rules! calls {
    (
        $(#[$meta:meta])*
        extern $abi:tt $table:ident { $(
            $kind:ident $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $answer:ty)?:
                $($symbol:literal)|+ $(=> $release:ident)?;
        )+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(super) struct $table {
            $($name: (
                &'static str,
                $crate::backend::library::calls!(@type $kind $abi ($($type),*) ($($answer)?)),
            ),)+
        }

        impl $table {
            /// Looks up all functions. `vendor` is the index of the vendor's names.
            ///
            /// # Safety
            ///
            /// 1. The library is the vendor's, and stays loaded as long as the table.
            pub(super) unsafe fn load(
                library: &libloading::Library,
                device: $crate::device::Device,
                vendor: usize,
            ) -> Result<Self, $crate::error::Error> {
                let name = |names: &[&'static str]| names.get(vendor).copied().unwrap_or_default();
                Ok(Self {
                    $($name: {
                        let name = name(&[$($symbol),+]);
                        // SAFETY: 1. The type is that in the vendor's header, except that
                        // pointers to results may be written as references, and pointers to
                        // structs as pointers to `c_void`. 2. By our caller's 1.
                        let call = unsafe {
                            $crate::backend::library::function(library, device, name)
                        };
                        (name, call?)
                    },)+
                })
            }

            $($crate::backend::library::calls!(
                @method $kind $name ($($argument: $type),*) ($($answer)?) $($release)?
            );)+
        }
    };

    (@type value $abi:tt ($($type:ty),*) ($($answer:ty)?)) => {
        unsafe extern $abi fn($($type),*) $(-> $answer)?
    };
    (@type object $abi:tt ($($type:ty),*) ()) => {
        unsafe extern $abi fn($($type),*) -> $crate::backend::object::Ref
    };
    (@type coded $abi:tt ($($type:ty),*) ()) => {
        unsafe extern $abi fn($($type,)* *mut i32) -> $crate::backend::object::Ref
    };
    // `safe` and `code`.
    (@type $kind:ident $abi:tt ($($type:ty),*) ()) => {
        unsafe extern $abi fn($($type),*) -> i32
    };

    (@method safe $name:ident ($($argument:ident: $type:ty),*) ()) => {
        pub(super) fn $name(
            &self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<(), $crate::error::Error> {
            let (call, function) = self.$name;
            // SAFETY: the vendor documents that wrong arguments are errors, and references are
            // places for the results.
            let code = unsafe { function($($argument),*) };
            $crate::backend::library::checked(device, call, code)
        }
    };
    (@method code $name:ident ($($argument:ident: $type:ty),*) ()) => {
        /// # Safety
        ///
        /// 1. The arguments are what the vendor documents for the function.
        pub(super) unsafe fn $name(
            &self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<(), $crate::error::Error> {
            let (call, function) = self.$name;
            // SAFETY: by our caller's 1.
            let code = unsafe { function($($argument),*) };
            $crate::backend::library::checked(device, call, code)
        }
    };
    (@method object $name:ident ($($argument:ident: $type:ty),*) () $release:ident) => {
        /// # Safety
        ///
        /// 1. The arguments are what the vendor documents for the function.
        pub(super) unsafe fn $name(
            &'static self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<$crate::backend::object::Object<Self>, $crate::error::Error> {
            let (call, function) = self.$name;
            let exception = $crate::backend::object::NoException;
            // SAFETY: by our caller's 1. `exception` stops an unwinding.
            let raw = unsafe { function($($argument),*) };
            core::mem::forget(exception);
            // NULL is the only failure, without an error code.
            let failed = || $crate::backend::device_error(device, call, 0, "");
            let raw = core::ptr::NonNull::new(raw).ok_or_else(failed)?;
            // SAFETY: 1. The call returned a reference that is the caller's to release.
            Ok(unsafe { $crate::backend::object::Object::new(self, raw, Self::$release) })
        }
    };
    (@method coded $name:ident ($($argument:ident: $type:ty),*) () $release:ident) => {
        /// # Safety
        ///
        /// 1. The arguments are what the vendor documents for the function.
        pub(super) unsafe fn $name(
            &'static self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<$crate::backend::object::Object<Self, i32>, $crate::error::Error> {
            let ((call, function), mut code) = (self.$name, 0);
            // SAFETY: by our caller's 1, and `code` is a place for the result.
            let raw = unsafe { function($($argument,)* &raw mut code) };
            let failed = || $crate::backend::device_error(device, call, code.into(), "");
            let raw = core::ptr::NonNull::new(raw).filter(|_| code == 0).ok_or_else(failed)?;
            // SAFETY: 1. The call returned a reference that is the caller's to release.
            Ok(unsafe { $crate::backend::object::Object::new(self, raw, Self::$release) })
        }
    };
    (@method value $name:ident ($($argument:ident: $type:ty),*) ($($answer:ty)?)) => {
        /// # Safety
        ///
        /// 1. The arguments are what the vendor documents for the function.
        pub(super) unsafe fn $name(&self, $($argument: $type),*) $(-> $answer)? {
            let exception = $crate::backend::object::NoException;
            // SAFETY: by our caller's 1. `exception` stops an unwinding.
            let answer = unsafe { (self.$name.1)($($argument),*) };
            core::mem::forget(exception);
            answer
        }
    };
}

pub(super) use calls;

/// Converts an error code of a call.
#[cfg(any(feature = "cuda", feature = "opencl", feature = "rocm"))]
pub(super) fn checked(device: Device, call: &'static str, code: i32) -> Result<(), Error> {
    #[cfg(any(feature = "cuda", feature = "rocm"))]
    let text = |code| driver_text(device, code);
    #[cfg(not(any(feature = "cuda", feature = "rocm")))]
    let text = |_| "";
    if code == 0 { Ok(()) } else { Err(device_error(device, call, code.into(), text(code))) }
}

/// A driver's function for the text of an error code.
#[cfg(any(feature = "cuda", feature = "rocm"))]
type TextOfCode = unsafe extern "C" fn(i32, &mut *const c_char) -> i32;

/// Such functions, with the memory of each driver.
#[cfg(any(feature = "cuda", feature = "rocm"))]
static TEXTS: AppendList<(&[MemoryType], TextOfCode)> = AppendList::new();

/// Adds the driver's texts to the errors of its devices. A driver without the function has none.
///
/// # Safety
///
/// 1. The library stays loaded as long as the process, and its function `name`, if there is one,
///    is a `TextOfCode`: it writes NULL or a C string that lives as long.
#[cfg(any(feature = "cuda", feature = "rocm"))]
pub(super) unsafe fn add_texts(
    library: &Library,
    kinds: &'static [MemoryType],
    name: &'static str,
) {
    // SAFETY: 1. and 2. By our caller's 1.
    if let Ok(text) = unsafe { function(library, Device::CPU, name) } {
        TEXTS.append((kinds, text));
    }
}

/// The driver's text for a code; `""` if it has none.
#[cfg(any(feature = "cuda", feature = "rocm"))]
pub(super) fn driver_text(device: Device, code: i32) -> &'static str {
    let is_of = |kind: &MemoryType| kind.device_type() == device.device_type();
    let Some((_, text_of)) = TEXTS.iter().find(|(kinds, _)| kinds.iter().any(is_of)) else {
        return "";
    };
    let mut text = core::ptr::null();
    // SAFETY: by 1 of `add_texts`, it writes the text to its argument.
    if unsafe { text_of(code, &mut text) } != 0 || text.is_null() {
        return "";
    }
    // SAFETY: by 1 of `add_texts`, it is a C string that lives as long as the process.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default()
}
