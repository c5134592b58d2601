//! Backends of devices: their memory and their streams.
//!
//! A Python class or an exchange table names the devices that it serves as a
//! type: [`Cpu`], another [`Backend`], or a tuple of them ([`Backends`]). Device
//! memory is a `data` field of type [`DeviceBuffer`], which synchronizes with
//! the consumer's stream by the stream rules of the standard ([`StreamRules`]).
//!
//! A backend for a new device implements five functions in two traits,
//! [`Backend`] and [`Stream`]; `examples/new-device` is the guide.
//!
//! No lock of this module is held while a backend runs, with one exception
//! (`reentrant_lock`), so backends may call any code and deleters do not wait for locks.
//! Records of streams are append-only lists.

mod allocation;
mod append_list;
mod backend_set;
mod backend_trait;
mod buffer;
mod copy_to_host;
mod cpu;
mod device_error;
mod device_tensor;
mod frees;
#[cfg(any(feature = "cuda", feature = "rocm"))]
mod gpu;
#[cfg(any(
    feature = "cuda",
    feature = "oneapi",
    feature = "opencl",
    feature = "rocm",
    feature = "webgpu"
))]
#[cfg_attr(
    not(all(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "webgpu")),
    allow(dead_code, reason = "each vendor uses a part of it")
)]
mod library;
mod memory;
#[cfg(feature = "oneapi")]
mod oneapi;
#[cfg(feature = "opencl")]
mod opencl;
#[cfg(any(feature = "vulkan", feature = "webgpu"))]
mod reentrant_lock;
mod staged;
mod stream;
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
mod stream_guard;
mod stream_rules;
#[cfg(feature = "testing")]
pub mod testing;
mod used_streams;
#[cfg(feature = "vulkan")]
mod vulkan;
#[cfg(feature = "webgpu")]
mod webgpu;

pub use allocation::FreeOrder;
pub use backend_set::{Backends, CopySource, SyncFn};
pub use backend_trait::{Backend, WorkStream};
pub use buffer::DeviceBuffer;
pub use copy_to_host::{copy_on_device, copy_to_device, copy_to_host};
pub use cpu::Cpu;
pub use device_error::device_error;
pub use device_tensor::{DeviceTensor, check_device};
#[cfg(feature = "cuda")]
pub use gpu::{Cuda, CudaDriver};
#[cfg(any(feature = "cuda", feature = "rocm"))]
pub use gpu::{Gpu, GpuEvent, GpuStream};
#[cfg(feature = "rocm")]
pub use gpu::{HipRuntime, Rocm};
pub use memory::{Attributes, MemoryRange, MemoryRef, MemoryType, Prototype};
#[cfg(feature = "oneapi")]
pub use oneapi::{OneApi, OneApiEvent, OneApiQueue, Usm, UsmKind};
#[cfg(feature = "opencl")]
pub use opencl::{OpenCl, OpenClEvent, OpenClMemory, OpenClQueue};
pub use stream::{ArrayStream, Event, NoStream, Stream, StreamHandle};
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub use stream_guard::StreamGuard;
pub use stream_rules::{HandleLifetime, StreamMeaning, StreamRules, SyncAction};
pub use used_streams::{UsedStreams, sync_for};
#[cfg(feature = "vulkan")]
pub use vulkan::{Vulkan, VulkanEvent, VulkanStream};
#[cfg(feature = "webgpu")]
pub use webgpu::{WebGpu, WebGpuEvent, WebGpuStream};

#[cfg(feature = "pyo3")]
pub(crate) use backend_trait::{has_addresses, is_read_by_host};
#[cfg(feature = "pyo3")]
pub(crate) use device_tensor::not_served;
#[cfg(feature = "pyo3")]
pub(crate) use frees::{BlockingHook, set_blocking_hook};
