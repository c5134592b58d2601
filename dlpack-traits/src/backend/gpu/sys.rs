//! The functions that CUDA and ROCm have in common: [`Calls`].

use core::ffi::{c_int, c_uint, c_void};

use crate::backend::library::calls;

calls! {
    /// The functions that both vendors have, with the same arguments.
    extern "C" Calls {
        safe initialize(flags: c_uint): "cuInit" | "hipInit";
        safe device_count(count: &mut c_int): "cuDeviceGetCount" | "hipGetDeviceCount";
        safe synchronize_device(): "cuCtxSynchronize" | "hipDeviceSynchronize";
        safe event_create(event: &mut *mut c_void, flags: c_uint):
            "cuEventCreate" | "hipEventCreateWithFlags";
        safe exchange_capture_mode(mode: &mut c_uint):
            "cuThreadExchangeStreamCaptureMode" | "hipThreadExchangeStreamCaptureMode";
        code event_destroy(event: *mut c_void): "cuEventDestroy_v2" | "hipEventDestroy";
        code event_record(event: *mut c_void, stream: *mut c_void):
            "cuEventRecord" | "hipEventRecord";
        code stream_wait(stream: *mut c_void, event: *mut c_void, flags: c_uint):
            "cuStreamWaitEvent" | "hipStreamWaitEvent";
        code stream_synchronize(stream: *mut c_void): "cuStreamSynchronize" | "hipStreamSynchronize";
        code stream_is_capturing(stream: *mut c_void, status: *mut c_uint):
            "cuStreamIsCapturing" | "hipStreamIsCapturing";
        code allocate_in_order(data: *mut *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemAllocAsync" | "hipMallocAsync";
        code allocate(data: *mut *mut c_void, bytes: usize): "cuMemAlloc_v2" | "hipMalloc";
        code allocate_managed(data: *mut *mut c_void, bytes: usize, flags: c_uint):
            "cuMemAllocManaged" | "hipMallocManaged";
        code allocate_pinned(data: *mut *mut c_void, bytes: usize, flags: c_uint):
            "cuMemHostAlloc" | "hipHostMalloc";
        code free_in_order(data: *mut c_void, stream: *mut c_void):
            "cuMemFreeAsync" | "hipFreeAsync";
        code free(data: *mut c_void): "cuMemFree_v2" | "hipFree";
        code free_pinned(data: *mut c_void): "cuMemFreeHost" | "hipHostFree";
        code fill_in_order(data: *mut c_void, byte: u8, count: usize, stream: *mut c_void):
            "cuMemsetD8Async" | "hipMemsetD8Async";
        code copy_to_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyHtoDAsync_v2" | "hipMemcpyHtoDAsync";
        code copy_to_host(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyDtoHAsync_v2" | "hipMemcpyDtoHAsync";
        code copy_on_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void):
            "cuMemcpyDtoDAsync_v2" | "hipMemcpyDtoDAsync";
    }
}
