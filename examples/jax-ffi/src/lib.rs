//! Handlers of XLA: functions of Rust that a jitted function of JAX calls.

mod abi;
mod handler;
mod kernels;

use core::ffi::c_char;
use std::ffi::CString;
use std::sync::OnceLock;

use abi::{CallFrame, Error};
use handler::handle;

/// `rms_norm(x, *, eps)`: see [`kernels::rms_norm`].
///
/// # Safety
///
/// 1. XLA calls it, for the platform `cpu`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rms_norm(frame: *mut CallFrame) -> *mut Error {
    // SAFETY: 1. By 1.
    unsafe { handle(frame, kernels::rms_norm) }
}

/// A handler that panics.
///
/// # Safety
///
/// 1. That of [`rms_norm`].
#[unsafe(no_mangle)]
unsafe extern "C" fn panics(frame: *mut CallFrame) -> *mut Error {
    // SAFETY: 1. By 1.
    unsafe { handle(frame, kernels::panics) }
}

/// A C program that compiles if `abi` is what the header says.
#[unsafe(no_mangle)]
extern "C" fn abi_assertions() -> *const c_char {
    static PROGRAM: OnceLock<CString> = OnceLock::new();
    PROGRAM.get_or_init(|| CString::new(abi::assertions()).unwrap_or_default()).as_ptr()
}
