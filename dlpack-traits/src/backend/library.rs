//! A vendor's library: its file ([`open`]), which is loaded by the first call ([`Loaded`]), its
//! functions ([`calls!`](calls)), and its objects ([`Object`]).
//!
//! A library that was called is never closed, even if it reports no device: it may have
//! started threads or installed handlers. If the number of devices can change (oneAPI,
//! OpenCL), the next call queries the same library again.

use core::convert::Infallible;
use core::ffi::{CStr, c_char, c_void};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use std::path::Path;
use std::process::abort;
use std::sync::OnceLock;

use libloading::Library;

use super::append_list::AppendList;
use super::{MemoryType, device_error};
use crate::device::Device;
use crate::error::Error;

/// Opens the first of these libraries that the machine has. A library that the process has
/// already loaded is preferred, because two runtimes of one vendor share no state.
pub(super) fn open(names: &'static [&'static str]) -> Result<Library, Error> {
    let mut loaded = names.iter().filter_map(|name| already_loaded(name));
    // SAFETY: loading a vendor's runtime runs its initializers, which the caller wants when
    // it uses one of its devices.
    let mut loadable = names.iter().filter_map(|name| unsafe { Library::new(name) }.ok());
    let name = names.first().copied().unwrap_or_default();
    loaded.next().or_else(|| loadable.next()).ok_or(Error::NoLibrary { name })
}

#[cfg(target_os = "linux")]
pub(super) fn already_loaded(name: &str) -> Option<Library> {
    use libloading::os::unix;

    /// `RTLD_NOLOAD` on Linux.
    const NO_LOAD: i32 = 4;
    // SAFETY: with `RTLD_NOLOAD` nothing is loaded, so no initializer runs.
    let library = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | NO_LOAD) };
    library.ok().map(Library::from)
}

#[cfg(not(target_os = "linux"))]
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

/// Defines a table of the C functions of a library, and a method for each, by what the function
/// returns:
///
/// | kind | the function returns | the method |
/// |---|---|---|
/// | `code` | an error code | converts the code |
/// | `object` | an object, or NULL | returns its owner, with the function of the table that releases it |
/// | `coded` | the same, and writes an error code to its last argument | the same |
/// | `value` | any other value | returns it |
///
/// The methods of `safe` functions are safe: the vendor documents that invalid arguments are errors,
/// and references are places for results, or objects that are alive ([`kinds!`](kinds)). A function may
/// have a name for each vendor.
macro_rules! calls {
    (
        $(#[$meta:meta])*
        extern $abi:tt $table:ident { $($safety:ident { $(
            $kind:ident $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $answer:ty)?:
                $($symbol:literal)|+ $(=> $release:ident)?;
        )+ })+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(super) struct $table {
            $($($name: (
                &'static str,
                $crate::backend::library::calls!(@type $kind $abi ($($type),*) ($($answer)?)),
            ),)+)+
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
                    $($($name: {
                        let name = name(&[$($symbol),+]);
                        // SAFETY: 1. The type is that in the vendor's header, except that
                        // pointers to results may be written as references, and pointers to
                        // structs as pointers to `c_void`. 2. By our caller's 1.
                        let call = unsafe {
                            $crate::backend::library::function(library, device, name)
                        };
                        (name, call?)
                    },)+)+
                })
            }

            $($($crate::backend::library::calls!(
                @method $safety $kind $name ($($argument: $type),*) ($($answer)?) $($release)?
            );)+)+
        }
    };

    (@type code $abi:tt ($($type:ty),*) ()) => {
        unsafe extern $abi fn($($type),*) -> i32
    };
    (@type value $abi:tt ($($type:ty),*) ($($answer:ty)?)) => {
        unsafe extern $abi fn($($type),*) $(-> $answer)?
    };
    (@type object $abi:tt ($($type:ty),*) ($kind:ty)) => {
        unsafe extern $abi fn($($type),*) -> $crate::backend::library::Ref
    };
    (@type coded $abi:tt ($($type:ty),*) ($kind:ty)) => {
        unsafe extern $abi fn($($type,)* *mut i32) -> $crate::backend::library::Ref
    };

    (@method $safety:ident code $name:ident ($($argument:ident: $type:ty),*) ()) => {
        $crate::backend::library::calls!(@fn $safety $name(
            &self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<(), $crate::error::Error> {
            let (call, function) = self.$name;
            // SAFETY: by our caller's 1, or the function is safe.
            let code = unsafe { function($($argument),*) };
            $crate::backend::library::checked(device, call, code)
        });
    };
    (@method $safety:ident object $name:ident ($($argument:ident: $type:ty),*) ($kind:ty) $release:ident) => {
        $crate::backend::library::calls!(@fn $safety $name(
            &'static self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<$crate::backend::library::Object<Self, $kind>, $crate::error::Error> {
            let (call, function) = self.$name;
            let exception = $crate::backend::library::NoException;
            // SAFETY: by our caller's 1, or the function is safe. `exception` stops an unwinding.
            let raw = unsafe { function($($argument),*) };
            core::mem::forget(exception);
            // NULL is the only failure, without an error code.
            let failed = || $crate::backend::device_error(device, call, 0, "");
            let raw = core::ptr::NonNull::new(raw).ok_or_else(failed)?;
            // SAFETY: 1. The call returned a reference that is the caller's to release.
            Ok(unsafe { $crate::backend::library::Object::new(self, raw, Self::$release) })
        });
    };
    (@method $safety:ident coded $name:ident ($($argument:ident: $type:ty),*) ($kind:ty) $release:ident) => {
        $crate::backend::library::calls!(@fn $safety $name(
            &'static self,
            device: $crate::device::Device,
            $($argument: $type),*
        ) -> Result<$crate::backend::library::Object<Self, $kind, i32>, $crate::error::Error> {
            let ((call, function), mut code) = (self.$name, 0);
            // SAFETY: by our caller's 1, or the function is safe; `code` is a place for the result.
            let raw = unsafe { function($($argument,)* &raw mut code) };
            let failed = || $crate::backend::device_error(device, call, code.into(), "");
            let raw = core::ptr::NonNull::new(raw).filter(|_| code == 0).ok_or_else(failed)?;
            // SAFETY: 1. The call returned a reference that is the caller's to release.
            Ok(unsafe { $crate::backend::library::Object::new(self, raw, Self::$release) })
        });
    };
    (@method $safety:ident value $name:ident ($($argument:ident: $type:ty),*) ($($answer:ty)?)) => {
        $crate::backend::library::calls!(@fn $safety $name(&self, $($argument: $type),*) $(-> $answer)? {
            let exception = $crate::backend::library::NoException;
            // SAFETY: by our caller's 1, or the function is safe. `exception` stops an unwinding.
            let answer = unsafe { (self.$name.1)($($argument),*) };
            core::mem::forget(exception);
            answer
        });
    };

    (@fn safe $($function:tt)*) => {
        pub(super) fn $($function)*
    };
    (@fn unsafe $($function:tt)*) => {
        /// # Safety
        ///
        /// 1. The arguments are what the vendor documents for the function.
        pub(super) unsafe fn $($function)*
    };
}

pub(super) use calls;

/// Converts an error code of a call.
pub(super) fn checked(device: Device, call: &'static str, code: i32) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    Err(device_error(device, call, code.into(), driver_text(device, code)))
}

/// A driver's function for the text of an error code.
type TextOfCode = unsafe extern "C" fn(i32, &mut *const c_char) -> i32;

/// Such functions, with the memory of each driver.
static TEXTS: AppendList<(&[MemoryType], TextOfCode)> = AppendList::new();

/// Adds the driver's texts to the errors of its devices. A driver without the function has none.
///
/// # Safety
///
/// 1. The library stays loaded as long as the process, and its function `name`, if there is one,
///    is a `TextOfCode`: it writes NULL or a C string that lives as long.
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

/// A pointer to an object of a library.
pub(super) type Ref = *mut c_void;

/// A guard that aborts the process if a C++ exception unwinds through it. Most functions
/// catch exceptions and return NULL. Some do not, but throw nothing as long as they are
/// called in the order that their backend guarantees.
pub(super) struct NoException;

impl Drop for NoException {
    fn drop(&mut self) {
        abort();
    }
}

/// Defines kinds of objects: opaque structs of C. A reference to one is a pointer to an object that is
/// alive as long as it is borrowed.
macro_rules! kinds {
    ($($kind:ident)+) => {$(
        /// An object, which any thread may use.
        #[derive(Debug)]
        #[repr(C)]
        pub(super) struct $kind([u8; 0]);
    )+};
}

pub(super) use kinds;

/// NULL, in place of a struct or a function that this crate does not pass.
pub(super) type Null = Option<&'static Infallible>;

/// An owned reference to an object of a library, of the kind `K`, which the function `release` of the
/// table `C` releases.
#[derive(Debug)]
pub(super) struct Object<C: 'static, K, R = ()> {
    raw: NonNull<K>,
    release: unsafe fn(&C, Ref) -> R,
    calls: &'static C,
}

// SAFETY: the libraries whose objects are owned by this type, those of SYCL, OpenCL and WebGPU,
// document that any thread may use and release them.
unsafe impl<C: Sync, K, R> Send for Object<C, K, R> {}
// SAFETY: as above, also several threads at once. The arguments of OpenCL's kernels are the only
// exception, and are not used here.
unsafe impl<C: Sync, K, R> Sync for Object<C, K, R> {}

impl<C, K, R> Object<C, K, R> {
    /// Takes ownership of a reference.
    ///
    /// # Safety
    ///
    /// 1. The reference is ours to release, by `release`, and to an object of the kind `K`.
    pub(super) unsafe fn new(
        calls: &'static C,
        raw: NonNull<c_void>,
        release: unsafe fn(&C, Ref) -> R,
    ) -> Self {
        Self { raw: raw.cast(), release, calls }
    }

    pub(super) fn get(&self) -> &K {
        // SAFETY: by 1 of `new` it is an object of this kind, which is alive until it is released.
        unsafe { self.raw.as_ref() }
    }

    pub(super) fn raw(&self) -> Ref {
        self.raw.as_ptr().cast()
    }

    /// Returns the reference, which the caller must release.
    pub(super) fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).raw.cast()
    }
}

impl<C, K, R> Drop for Object<C, K, R> {
    fn drop(&mut self) {
        // SAFETY: 1. The reference is ours by 1 of `new`, and not used any more. An error cannot
        // be reported here.
        let _ = unsafe { (self.release)(self.calls, self.raw()) };
    }
}
