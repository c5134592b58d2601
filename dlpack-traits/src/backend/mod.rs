//! Backends of devices: their memory and their streams.
//!
//! A Python class or an exchange table names the devices that it serves as a
//! type: [`Cpu`], another [`Backend`], or a tuple of them ([`Backends`]). Device
//! memory is a `data` field of type [`DeviceBuffer`], which synchronizes with
//! the consumer's stream by the stream rules of the standard ([`StreamRules`]).
//!
//! A backend for a new device implements five functions in two traits,
//! [`Backend`] and [`Stream`]; `examples/new-device` is the guide.

mod adopt;
mod buffer;
mod claimed;
mod copy_to_host;
mod cpu;
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
mod entered;
#[cfg(any(feature = "cuda", feature = "rocm"))]
mod gpu;
mod hand_off;
mod host;
#[cfg(any(feature = "vulkan", feature = "webgpu"))]
mod kept;
mod later;
#[cfg(any(
    feature = "cuda",
    feature = "oneapi",
    feature = "opencl",
    feature = "rocm",
    feature = "webgpu"
))]
mod library;
#[cfg(any(feature = "oneapi", feature = "opencl"))]
mod loaded;
mod memory;
#[cfg(feature = "oneapi")]
mod oneapi;
#[cfg(feature = "opencl")]
mod opencl;
mod prototype;
mod registry;
mod rules;
mod runtime;
mod set;
mod staged;
mod stream;
#[cfg(any(feature = "vulkan", feature = "webgpu"))]
mod turn;
#[cfg(feature = "vulkan")]
mod vulkan;
mod waits;
#[cfg(feature = "webgpu")]
mod webgpu;
mod work_stream;

pub use buffer::{DeviceBuffer, Freed};
pub use claimed::check_device;
pub use copy_to_host::{copy_on_device, copy_to_host};
pub use cpu::Cpu;
#[cfg(any(feature = "cuda", feature = "oneapi", feature = "opencl", feature = "rocm"))]
pub use entered::Entered;
#[cfg(feature = "cuda")]
pub use gpu::{Cuda, CudaDriver};
#[cfg(any(feature = "cuda", feature = "rocm"))]
pub use gpu::{Gpu, GpuEvent, GpuStream};
#[cfg(feature = "rocm")]
pub use gpu::{HipRuntime, Rocm};
pub use hand_off::{Uses, hand_off};
pub use memory::{
    Allocator, AllocatorOf, Attributes, AttributesOf, Memcpy, MemcpyOf, Place, PointerAttributes,
};
#[cfg(feature = "oneapi")]
pub use oneapi::{OneApi, OneApiEvent, OneApiQueue, Usm, UsmKind};
#[cfg(feature = "opencl")]
pub use opencl::{OpenCl, OpenClEvent, OpenClMemory, OpenClQueue};
pub use prototype::Prototype;
pub use registry::Registry;
pub use rules::{Decision, Lives, Meaning, StreamRules};
#[doc(hidden)]
pub use runtime::AllocateTensor;
pub use runtime::Backend;
pub use set::{Backends, Order};
pub use stream::{Event, NoStream, Stream, StreamHandle};
#[cfg(feature = "vulkan")]
pub use vulkan::{Vulkan, VulkanEvent, VulkanStream};
#[cfg(feature = "webgpu")]
pub use webgpu::{WebGpu, WebGpuEvent, WebGpuStream};
pub use work_stream::WorkStream;

#[cfg(feature = "pyo3")]
pub(crate) use copy_to_host::{copy_on_device_managed, copy_to_host_managed};
#[cfg(feature = "pyo3")]
pub(crate) use waits::{Around, wait_by};
