//! Modules, their kernels, and launches.

use std::ffi::CStr;

use crate::kernel::{Kernel, Launch};
use crate::state;
use crate::status::Status;
use crate::work::Work;

/// Loads a module from its text.
pub(crate) fn load(ordinal: usize, image: &CStr) -> Result<usize, Status> {
    let mut state = state::lock();
    state.check(ordinal)?;
    state.check_unsafe_in_capture()?;
    let kernels = Kernel::of_image(image)?;
    let module = state.new_handle();
    state.modules.insert(module, kernels);
    Ok(module)
}

/// A kernel of a module.
pub(crate) fn function(module: usize, name: &CStr) -> Result<usize, Status> {
    let mut state = state::lock();
    let kernels = state.modules.get(&module).ok_or(Status::INVALID_HANDLE)?;
    let kernel = kernels.iter().find(|kernel| kernel.name() == name).copied();
    let kernel = kernel.ok_or(Status::NOT_FOUND)?;
    let function = state.new_handle();
    state.functions.insert(function, (module, kernel));
    Ok(function)
}

/// Gives a module and its kernels back.
pub(crate) fn unload(module: usize) -> Result<(), Status> {
    let mut state = state::lock();
    state.modules.remove(&module).ok_or(Status::INVALID_HANDLE)?;
    state.functions.retain(|_, (owner, _)| *owner != module);
    Ok(())
}

/// The kernel behind a handle.
pub(crate) fn kernel(function: usize) -> Result<Kernel, Status> {
    let state = state::lock();
    state.functions.get(&function).map(|(_, kernel)| *kernel).ok_or(Status::INVALID_HANDLE)
}

/// Has a stream run a kernel.
pub(crate) fn launch(ordinal: usize, stream: usize, launch: Launch) -> Result<(), Status> {
    let mut state = state::lock();
    let which = state.stream_of(ordinal, stream)?;
    state.enqueue(which, Work::Launch(launch)).map(drop)
}
