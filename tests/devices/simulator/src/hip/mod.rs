//! The HIP runtime API, where it differs from CUDA's driver: there is no initialization
//! call, and a thread has a current device instead of a context.

mod capture;
mod copy;
mod device;
mod memory;
mod stream;

use std::cell::Cell;
use std::ffi::c_int;

use crate::boundary;
use crate::state;
use crate::status::Status;

thread_local! {
    /// The device that is current for this thread.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// A call: the first one of all initializes.
fn call(name: &'static str, body: impl FnOnce(usize) -> Result<(), Status>) -> c_int {
    if let Err(status) = initialize() {
        return status.0;
    }
    boundary::call(name, || body(CURRENT.get()))
}

/// The same for a function that gives something back.
fn release(name: &'static str, body: impl FnOnce(usize) -> Result<(), Status>) -> c_int {
    if let Err(status) = initialize() {
        return status.0;
    }
    boundary::release(name, || body(CURRENT.get()))
}

fn initialize() -> Result<(), Status> {
    let mut state = state::lock();
    if state.devices.is_empty() {
        return Err(Status::NO_DEVICE);
    }
    state.initialized = true;
    Ok(())
}
