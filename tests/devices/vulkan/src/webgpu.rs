//! A `WGPUDevice` as a program makes one, by the functions of wgpu-native.

use std::ffi::{OsStr, c_char, c_void};
use std::io::Write;
use std::ptr::{self, NonNull};

use libloading::Library;

type Handle = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
struct StringView(*const c_char, usize);

/// A request for an adapter or for a device.
#[repr(C)]
struct CallbackInfo {
    next: *const c_void,
    mode: u32,
    callback: unsafe extern "C" fn(u32, Handle, StringView, *mut c_void, *mut c_void),
    first: *mut c_void,
    second: *mut c_void,
}

#[repr(C)]
struct Future(u64);

unsafe extern "C" fn got(_: u32, found: Handle, _: StringView, to: *mut c_void, _: *mut c_void) {
    // SAFETY: `ask` passed it, and waits for the call.
    unsafe { to.cast::<Handle>().write(found) };
}

/// Calls a function that answers by a callback.
fn ask(library: &Library, name: &str, of: Handle) -> Handle {
    type Ask = unsafe extern "C" fn(Handle, *const c_void, CallbackInfo) -> Future;
    // SAFETY: the type in `webgpu.h`.
    let ask = unsafe { library.get::<Ask>(name.as_bytes()) }.expect("a function");
    let mut found: Handle = ptr::null_mut();
    let first = (&raw mut found).cast();
    let (next, second) = (ptr::null(), ptr::null_mut());
    let info = CallbackInfo { next, mode: 3, callback: got, first, second };
    // SAFETY: wgpu-native answers before it returns.
    unsafe { ask(of, ptr::null(), info) };
    found
}

type Create = unsafe extern "C" fn(*const c_void) -> Handle;

/// A device of that library, which stays loaded.
pub fn raw_device(path: &OsStr) -> NonNull<c_void> {
    // SAFETY: a program that names the library runs its initializers.
    let library = unsafe { Library::new(path) }.expect("DLPACK_WGPU_NATIVE names a library");
    // SAFETY: the type in `webgpu.h`.
    let create = unsafe { library.get::<Create>(b"wgpuCreateInstance") }.expect("a function");
    // SAFETY: NULL describes nothing.
    let instance = unsafe { create(ptr::null()) };
    let adapter = ask(&library, "wgpuInstanceRequestAdapter", instance);
    assert!(!adapter.is_null(), "an adapter");
    let device = ask(&library, "wgpuAdapterRequestDevice", adapter);
    std::mem::forget(library);
    NonNull::new(device).expect("a device")
}

/// Says aloud that a test did not run, for want of wgpu-native; fails where
/// `DLPACK_REQUIRE` names it.
pub fn skipped() {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    let needed = required.split(',').any(|name| name.trim() == "webgpu");
    assert!(!needed, "DLPACK_REQUIRE names webgpu, but DLPACK_WGPU_NATIVE names no library");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let reason = "DLPACK_WGPU_NATIVE names no library";
    drop(std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes()));
}
