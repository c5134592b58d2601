//! Copying and filling.

use std::ffi::c_int;

use super::context::current;
use crate::boundary::call;
use crate::ops::copy::{self, Copy, Fill};

/// Copies on a stream, or at once.
macro_rules! copies {
    ($($name:ident, $wait:literal, ($($stream:ident)?);)+) => {$(
        /// # Safety
        ///
        /// 1. As CUDA documents it: the program's memory may be read, or written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: usize, from: usize, len: usize $(, $stream: usize)?) -> c_int {
            let stream = 0;
            $(let stream = { let _: usize = stream; $stream };)?
            call(stringify!($name), || {
                // SAFETY: (1).
                unsafe { copy::copy(current()?, stream, Copy { to, from, len }, $wait) }
            })
        }
    )+};
}

copies! {
    cuMemcpy, true, ();
    cuMemcpyHtoD_v2, true, ();
    cuMemcpyDtoH_v2, true, ();
    cuMemcpyDtoD_v2, true, ();
    cuMemcpyAsync, false, (on);
    cuMemcpyHtoDAsync_v2, false, (on);
    cuMemcpyDtoHAsync_v2, false, (on);
    cuMemcpyDtoDAsync_v2, false, (on);
}

/// # Safety
///
/// 1. As CUDA documents it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyPeerAsync(
    to: usize,
    _to_context: usize,
    from: usize,
    _from_context: usize,
    len: usize,
    stream: usize,
) -> c_int {
    call("cuMemcpyPeerAsync", || {
        // SAFETY: (1).
        unsafe { copy::copy(current()?, stream, Copy { to, from, len }, false) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(to: usize, value: u8, count: usize) -> c_int {
    call("cuMemsetD8_v2", || {
        copy::fill(current()?, 0, Fill { to, value: value.into(), width: 1, count }, true)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(to: usize, value: u8, count: usize, stream: usize) -> c_int {
    call("cuMemsetD8Async", || {
        copy::fill(current()?, stream, Fill { to, value: value.into(), width: 1, count }, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32Async(to: usize, value: u32, count: usize, stream: usize) -> c_int {
    call("cuMemsetD32Async", || {
        copy::fill(current()?, stream, Fill { to, value, width: 4, count }, false)
    })
}
