//! The functions of wgpu-native, and the structs that they take.

use core::ffi::{c_char, c_void};
use core::ptr;

use crate::backend::library::{Object, Ref, calls};

/// An owned object of WebGPU.
pub(super) type WebGpuObject = Object<Calls>;

/// `WGPUStringView`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct StringView {
    data: *const c_char,
    length: usize,
}

impl StringView {
    /// No string: NULL, with the length that stands for undefined.
    pub(super) const NONE: Self = Self { data: ptr::null(), length: usize::MAX };
}

/// `WGPUBufferDescriptor`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct BufferDescriptor {
    pub(super) next: *const c_void,
    pub(super) label: StringView,
    pub(super) usage: u64,
    pub(super) size: u64,
    pub(super) mapped: u32,
}

/// `WGPUBufferMapCallbackInfo`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct MapInfo {
    pub(super) next: *const c_void,
    pub(super) mode: u32,
    pub(super) callback: unsafe extern "C" fn(u32, StringView, *mut c_void, *mut c_void),
    pub(super) first: *mut c_void,
    pub(super) second: *mut c_void,
}

/// `WGPUPopErrorScopeCallbackInfo`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct ScopeInfo {
    pub(super) next: *const c_void,
    pub(super) mode: u32,
    pub(super) callback: unsafe extern "C" fn(u32, u32, StringView, *mut c_void, *mut c_void),
    pub(super) first: *mut c_void,
    pub(super) second: *mut c_void,
}

/// `WGPUFuture`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Future(u64);

calls! {
    /// The functions of wgpu-native that this crate calls. Enumerations are 32 bits wide, flags 64.
    extern "C" Calls {
        value device_add_ref(device: Ref): "wgpuDeviceAddRef";
        value device_queue(device: Ref) -> Ref: "wgpuDeviceGetQueue";
        value device_poll(device: Ref, wait: u32, until: *const u64) -> u32: "wgpuDevicePoll";
        value push_scope(device: Ref, filter: u32): "wgpuDevicePushErrorScope";
        value pop_scope(device: Ref, info: ScopeInfo) -> Future: "wgpuDevicePopErrorScope";
        object create_buffer(device: Ref, info: *const BufferDescriptor):
            "wgpuDeviceCreateBuffer" => buffer_release;
        value buffer_release(buffer: Ref): "wgpuBufferRelease";
        value buffer_size(buffer: Ref) -> u64: "wgpuBufferGetSize";
        value buffer_map(buffer: Ref, mode: u64, offset: usize, size: usize, info: MapInfo)
            -> Future: "wgpuBufferMapAsync";
        value buffer_range(buffer: Ref, offset: usize, size: usize) -> *const c_void:
            "wgpuBufferGetConstMappedRange";
        object create_encoder(device: Ref, info: *const c_void):
            "wgpuDeviceCreateCommandEncoder" => encoder_release;
        value encoder_copy(encoder: Ref, from: Ref, start: u64, to: Ref, end: u64, size: u64):
            "wgpuCommandEncoderCopyBufferToBuffer";
        object encoder_finish(encoder: Ref, info: *const c_void):
            "wgpuCommandEncoderFinish" => commands_release;
        value encoder_release(encoder: Ref): "wgpuCommandEncoderRelease";
        value commands_release(commands: Ref): "wgpuCommandBufferRelease";
        value queue_submit(queue: Ref, count: usize, commands: *const Ref): "wgpuQueueSubmit";
        value queue_write(queue: Ref, to: Ref, offset: u64, from: *const c_void, size: usize):
            "wgpuQueueWriteBuffer";
    }
}
