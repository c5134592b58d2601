//! The functions of wgpu-native, and the structs that they take.

use core::ffi::{c_char, c_void};
use core::ptr;
use std::path::Path;

use libloading::Library;

use crate::backend::library::function;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// A handle of WebGPU.
pub(super) type Handle = *mut c_void;

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

/// Defines a table of C functions.
macro_rules! calls {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?: $symbol:literal;)+) => {
        /// The functions of the library, which stays loaded.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)+
            _library: Library,
        }

        impl Calls {
            /// # Safety
            ///
            /// 1. The file is wgpu-native, with the `webgpu.h` of release 24 or later.
            pub(super) unsafe fn load(path: &Path) -> Result<Self, Error> {
                // SAFETY: by our caller's 1; its initializers ran when the program loaded
                // it.
                let library = unsafe { Library::new(path) }
                    .map_err(|_| Error::NoLibrary { name: "libwgpu_native" })?;
                let device = Device::new(ffi::kDLWebGPU, 0);
                Ok(Self {
                    // SAFETY: 1. By our caller's 1 it is the function of `webgpu.h`;
                    // enumerations are 32 bits wide, flags 64. 2. The library is kept in
                    // the same struct.
                    $($name: unsafe { function(&library, device, $symbol) }?,)+
                    _library: library,
                })
            }
        }
    };
}

calls! {
    device_add_ref(Handle): "wgpuDeviceAddRef";
    device_queue(Handle) -> Handle: "wgpuDeviceGetQueue";
    device_poll(Handle, u32, *const u64) -> u32: "wgpuDevicePoll";
    push_scope(Handle, u32): "wgpuDevicePushErrorScope";
    pop_scope(Handle, ScopeInfo) -> Future: "wgpuDevicePopErrorScope";
    create_buffer(Handle, *const BufferDescriptor) -> Handle: "wgpuDeviceCreateBuffer";
    buffer_release(Handle): "wgpuBufferRelease";
    buffer_size(Handle) -> u64: "wgpuBufferGetSize";
    buffer_map(Handle, u64, usize, usize, MapInfo) -> Future: "wgpuBufferMapAsync";
    buffer_range(Handle, usize, usize) -> *const c_void: "wgpuBufferGetConstMappedRange";
    create_encoder(Handle, *const c_void) -> Handle: "wgpuDeviceCreateCommandEncoder";
    encoder_copy(Handle, Handle, u64, Handle, u64, u64): "wgpuCommandEncoderCopyBufferToBuffer";
    encoder_finish(Handle, *const c_void) -> Handle: "wgpuCommandEncoderFinish";
    encoder_release(Handle): "wgpuCommandEncoderRelease";
    commands_release(Handle): "wgpuCommandBufferRelease";
    queue_submit(Handle, usize, *const Handle): "wgpuQueueSubmit";
    queue_write(Handle, Handle, u64, *const c_void, usize): "wgpuQueueWriteBuffer";
}
