//! `current_work_stream`.

use core::ffi::c_void;
use core::ptr;

use tensors::ffi::{DLDeviceType, kDLCPU, kDLCUDA, kDLCUDAHost};

use crate::exchange::host::{Picture, exports, only_raised, raised};

fn stream(device_type: DLDeviceType, device_id: i32) -> (i32, *mut c_void) {
    let current = exports::<Picture>().0.current_work_stream.expect("set");
    let mut out = ptr::dangling_mut();
    // SAFETY: `out` may be written.
    (unsafe { current(device_type, device_id, &raw mut out) }, out)
}

#[test]
fn the_cpu_has_no_current_stream() {
    assert_eq!(stream(kDLCPU, 0), (0, ptr::null_mut()));
    assert!(raised().is_empty());
}

#[test]
fn devices_that_are_not_served_are_an_error() {
    for (device_type, device_id) in
        [(kDLCUDA, 0), (kDLCUDAHost, 0), (kDLCPU, 1), (DLDeviceType(-1), -1)]
    {
        assert_eq!(stream(device_type, device_id), (-1, ptr::null_mut()));
        let (kind, text) = only_raised();
        assert_eq!(kind, "BufferError");
        assert!(text.contains("no enabled backend"), "{text}");
    }
}

#[test]
fn null_is_refused() {
    let current = exports::<Picture>().0.current_work_stream.expect("set");
    // SAFETY: the function accepts NULL.
    assert_eq!(unsafe { current(kDLCPU, 0, ptr::null_mut()) }, -1);
    assert_eq!(only_raised().1, "`out` is NULL");
}
