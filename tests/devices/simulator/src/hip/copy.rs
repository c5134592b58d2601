//! Copying and filling.

use std::ffi::{c_int, c_uint};

use super::call;
use crate::boundary::Out;
use crate::ops::copy::{self, Copy, Fill};

/// # Safety
///
/// 1. The program's memory may be read, or written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpy(to: usize, from: usize, len: usize, _kind: c_uint) -> c_int {
    call("hipMemcpy", |current| {
        // SAFETY: (1).
        unsafe { copy::copy(current, 0, Copy { to, from, len }, true) }
    })
}

/// # Safety
///
/// 1. The program's memory may be read, or written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipMemcpyAsync(
    to: usize,
    from: usize,
    len: usize,
    _kind: c_uint,
    stream: usize,
) -> c_int {
    call("hipMemcpyAsync", |current| {
        // SAFETY: (1).
        unsafe { copy::copy(current, stream, Copy { to, from, len }, false) }
    })
}

/// Copies on a stream.
macro_rules! copies {
    ($($name:ident)+) => {$(
        /// # Safety
        ///
        /// 1. The program's memory may be read, or written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: usize, from: usize, len: usize, stream: usize) -> c_int {
            call(stringify!($name), |current| {
                // SAFETY: (1).
                unsafe { copy::copy(current, stream, Copy { to, from, len }, false) }
            })
        }
    )+};
}

copies! {
    hipMemcpyHtoDAsync
    hipMemcpyDtoHAsync
    hipMemcpyDtoDAsync
}

#[unsafe(no_mangle)]
extern "C" fn hipMemsetD8Async(to: usize, value: u8, count: usize, stream: usize) -> c_int {
    call("hipMemsetD8Async", |current| {
        copy::fill(current, stream, Fill { to, value: value.into(), width: 1, count }, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemsetAsync(to: usize, value: c_int, count: usize, stream: usize) -> c_int {
    call("hipMemsetAsync", |current| {
        let value = u32::from(value.to_le_bytes()[0]);
        copy::fill(current, stream, Fill { to, value, width: 1, count }, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemsetD32Async(to: usize, value: c_int, count: usize, stream: usize) -> c_int {
    call("hipMemsetD32Async", |current| {
        let value = u32::from_ne_bytes(value.to_ne_bytes());
        copy::fill(current, stream, Fill { to, value, width: 4, count }, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn hipMemGetInfo(free: Out<usize>, total: Out<usize>) -> c_int {
    call("hipMemGetInfo", |_| {
        free.put(crate::state::lock().memory.available())?;
        total.put(crate::memory::CAPACITY)
    })
}
