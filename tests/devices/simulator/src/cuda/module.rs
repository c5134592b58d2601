//! Modules and launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::context::current;
use super::device::text;
use crate::boundary::{Out, call, release};
use crate::ops::module;
use crate::status::Status;

/// # Safety
///
/// 1. `image` is the text of a module, a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: Out<usize>, image: *const c_void) -> c_int {
    call("cuModuleLoadData", || {
        // SAFETY: (1).
        let image = unsafe { text(image.cast()) }?;
        module.put(module::load(current()?, image)?)
    })
}

/// # Safety
///
/// 1. `image` is the text of a module, a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: Out<usize>,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_uint,
    _values: *mut *mut c_void,
) -> c_int {
    call("cuModuleLoadDataEx", || {
        // SAFETY: (1).
        let image = unsafe { text(image.cast()) }?;
        module.put(module::load(current()?, image)?)
    })
}

/// # Safety
///
/// 1. `name` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: Out<usize>,
    module: usize,
    name: *const c_char,
) -> c_int {
    call("cuModuleGetFunction", || {
        // SAFETY: (1).
        let name = unsafe { text(name) }?;
        function.put(module::function(module, name)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: usize) -> c_int {
    release("cuModuleUnload", || module::unload(module))
}

/// # Safety
///
/// 1. `parameters` points to as many pointers as the kernel has parameters, each
///    to a value of the parameter's type.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    _shared_bytes: c_uint,
    stream: usize,
    parameters: *const *const c_void,
    extra: *const *const c_void,
) -> c_int {
    call("cuLaunchKernel", || {
        let sizes = [grid_x, grid_y, grid_z, block_x, block_y, block_z];
        if sizes.contains(&0) || parameters.is_null() || !extra.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let threads = sizes.into_iter().fold(1, u32::saturating_mul);
        let kernel = module::kernel(function)?;
        // SAFETY: (1).
        let launch = unsafe { kernel.launch(parameters, threads) };
        module::launch(current()?, stream, launch)
    })
}
