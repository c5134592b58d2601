//! The loaded runtime of a vendor ([`Runtime`]), the functions that vendors have in common
//! ([`Calls`]), and the differences between them ([`Vendor`]).
//!
//! The tables of functions are our own: `cudarc` panics if the library is missing.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::ManuallyDrop;
use core::sync::atomic::AtomicBool;
use std::boxed::Box;
use std::sync::OnceLock;

use libloading::Library;

use crate::backend::library::{self, calls, kinds};
use crate::backend::{Attributes, MemoryType, StreamHandle, StreamRules};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;

/// A vendor of GPUs. The trait cannot be implemented outside of this crate.
pub trait Vendor: Sized + Send + Sync + 'static {
    /// All kinds of memory of the vendor.
    const MEMORY_TYPES: &'static [MemoryType];
    /// GPU memory.
    const DEVICE: DLDeviceType;
    /// Pinned host memory.
    const PINNED: DLDeviceType;
    /// How to read the numbers that consumers pass as `stream`.
    const RULES: StreamRules;
    /// The method of stream objects of Python.
    const STREAM_METHOD: Option<&'static str>;
    /// Names of the library, in order of preference.
    const LIBRARIES: &'static [&'static str];
    /// The name of the function that writes the text of an error code.
    const TEXT_OF_CODE: &'static str;
    /// The index of the vendor's names in [`Calls`].
    const NAMES: usize;

    /// The state that only this vendor needs.
    type State: Send + Sync;
    /// A guard that keeps a GPU current for the thread, and restores the previous one.
    type Current;

    /// Where the loaded runtime is stored.
    fn loaded() -> &'static OnceLock<Result<Runtime<Self>, Error>>;

    /// Looks up the functions that only this vendor has.
    ///
    /// # Safety
    ///
    /// 1. The library is the vendor's, and stays loaded as long as the result.
    unsafe fn load_state(library: &Library, devices: usize) -> Result<Self::State, Error>;

    /// Makes a GPU current for the thread.
    fn enter(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
    ) -> Result<Self::Current, Error>;

    /// The work that is enqueued in the GPU's primary context, for a free after it. The GPU is
    /// current.
    fn all_work(_: &'static Runtime<Self>, _: Device, _ordinal: i32) -> AllWork {
        AllWork::Unknown
    }

    /// Rejects a stream of another GPU or context. The GPU is current.
    ///
    /// # Safety
    ///
    /// 1. `handle` names a stream that is alive.
    unsafe fn check_stream(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
        handle: StreamHandle,
    ) -> Result<(), Error>;

    /// The attributes of an address; `None` if it does not belong to the vendor's runtime.
    fn attributes(
        runtime: &'static Runtime<Self>,
        data: *mut c_void,
        hint: Device,
    ) -> Result<Option<Attributes>, Error>;
}

/// All work of a GPU: [`Vendor::all_work`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllWork {
    /// No work is pending.
    Done,
    /// Later work of this stream of the crate begins after all work.
    Before(StreamHandle),
    /// The runtime cannot record all work: the host has to wait for it.
    Unknown,
}

/// A vendor's runtime.
#[derive(Debug)]
pub struct Runtime<V: Vendor> {
    pub(super) calls: Calls,
    pub(super) state: V::State,
    pub(super) devices: usize,
    /// For each GPU, whether it was found not to support stream-ordered allocation.
    no_pools: Box<[AtomicBool]>,
}

/// Returns the vendor's runtime, which the first call loads.
pub(super) fn runtime<V: Vendor>() -> Result<&'static Runtime<V>, Error> {
    V::loaded().get_or_init(load).as_ref().map_err(|error| *error)
}

/// Returns the runtime, and makes a GPU current for the thread as long as the guard lives.
pub(super) fn enter<V: Vendor>(
    device: Device,
    ordinal: i32,
) -> Result<(&'static Runtime<V>, V::Current), Error> {
    let runtime = runtime::<V>()?;
    Ok((runtime, V::enter(runtime, device, ordinal)?))
}

fn load<V: Vendor>() -> Result<Runtime<V>, Error> {
    let library = library::open(V::LIBRARIES)?;
    let device = Device::new(V::DEVICE, 0);
    // SAFETY: 1. It is the vendor's by its name. Once its functions are looked up, it is
    // never closed, because its threads may still run.
    let calls = unsafe { Calls::load(&library, device, V::NAMES) }?;
    let library = ManuallyDrop::new(library);
    // SAFETY: 1. The library is never closed, and the vendor documents that the texts are constant.
    unsafe { library::add_texts(&library, V::MEMORY_TYPES, V::TEXT_OF_CODE) };
    calls.initialize(device, 0)?;
    let mut count: c_int = 0;
    calls.device_count(device, &mut count)?;
    let devices = usize::try_from(count).unwrap_or(0);
    // SAFETY: 1. The library is the vendor's by its name, and is never closed.
    let state = unsafe { V::load_state(&library, devices) }?;
    let no_pools = (0..devices).map(|_| AtomicBool::new(false)).collect();
    Ok(Runtime { calls, state, devices, no_pools })
}

impl<V: Vendor> Runtime<V> {
    /// The ordinal of the GPU. The standard gives pinned and managed memory the index 0,
    /// for whichever GPU it was allocated.
    pub(super) fn ordinal(&self, device: Device) -> Result<i32, Error> {
        let known = V::MEMORY_TYPES.iter().any(|kind| kind.device_type() == device.device_type());
        let ordinal = device.device_id();
        let exists = usize::try_from(ordinal).is_ok_and(|ordinal| ordinal < self.devices);
        let named = device.device_type() == V::DEVICE || ordinal == 0;
        if known && exists && named { Ok(ordinal) } else { Err(Error::NoBackend { device }) }
    }

    /// Whether a GPU was found not to support stream-ordered allocation. This happens in
    /// virtual machines with a share of a GPU, and on Windows with an old driver.
    pub(super) fn lacks_pools(&self, device: Device, ordinal: i32) -> Result<&AtomicBool, Error> {
        let known = usize::try_from(ordinal).ok().and_then(|at| self.no_pools.get(at));
        known.ok_or(Error::NoBackend { device })
    }
}

/// A guard that lets this thread allocate, free and wait while other threads capture
/// graphs.
///
/// Such calls are not part of any capture, but unless the thread is in relaxed mode, the
/// runtime rejects them and invalidates the capture.
pub(super) struct Relaxed<V: Vendor> {
    runtime: &'static Runtime<V>,
    before: c_uint,
}

impl<V: Vendor> Relaxed<V> {
    /// `CU_STREAM_CAPTURE_MODE_RELAXED`.
    const MODE: c_uint = 2;

    pub(super) fn new(runtime: &'static Runtime<V>, device: Device) -> Result<Self, Error> {
        let mut before = Self::MODE;
        runtime.calls.exchange_capture_mode(device, &mut before)?;
        Ok(Self { runtime, before })
    }
}

impl<V: Vendor> Drop for Relaxed<V> {
    fn drop(&mut self) {
        let device = Device::new(V::DEVICE, 0);
        // An error cannot be reported here; the thread would stay in relaxed mode.
        let _ = self.runtime.calls.exchange_capture_mode(device, &mut self.before);
    }
}

kinds! { Stream Event }

calls! {
    /// The functions that both vendors have, with the same arguments.
    extern "C" Calls {
        safe {
            code initialize(flags: c_uint): "cuInit" | "hipInit";
            code device_count(count: &mut c_int): "cuDeviceGetCount" | "hipGetDeviceCount";
            code synchronize_device(): "cuCtxSynchronize" | "hipDeviceSynchronize";
            code event_create(event: &mut *mut c_void, flags: c_uint):
                "cuEventCreate" | "hipEventCreateWithFlags";
            code exchange_capture_mode(mode: &mut c_uint):
                "cuThreadExchangeStreamCaptureMode" | "hipThreadExchangeStreamCaptureMode";
            code allocate(data: &mut *mut c_void, bytes: usize): "cuMemAlloc_v2" | "hipMalloc";
            code allocate_managed(data: &mut *mut c_void, bytes: usize, flags: c_uint):
                "cuMemAllocManaged" | "hipMallocManaged";
            code allocate_pinned(data: &mut *mut c_void, bytes: usize, flags: c_uint):
                "cuMemHostAlloc" | "hipHostMalloc";
            code event_record(event: &Event, stream: Option<&Stream>):
                "cuEventRecord" | "hipEventRecord";
            code stream_wait(stream: Option<&Stream>, event: &Event, flags: c_uint):
                "cuStreamWaitEvent" | "hipStreamWaitEvent";
            code stream_synchronize(stream: Option<&Stream>):
                "cuStreamSynchronize" | "hipStreamSynchronize";
            code stream_is_capturing(stream: Option<&Stream>, status: &mut c_uint):
                "cuStreamIsCapturing" | "hipStreamIsCapturing";
            code allocate_in_order(
                data: &mut *mut c_void, bytes: usize, stream: Option<&Stream>
            ): "cuMemAllocAsync" | "hipMallocAsync";
        }
        unsafe {
            code event_destroy(event: *mut c_void): "cuEventDestroy_v2" | "hipEventDestroy";
            code free_in_order(data: *mut c_void, stream: Option<&Stream>):
                "cuMemFreeAsync" | "hipFreeAsync";
            code free(data: *mut c_void): "cuMemFree_v2" | "hipFree";
            code free_pinned(data: *mut c_void): "cuMemFreeHost" | "hipHostFree";
            code fill_in_order(data: *mut c_void, byte: u8, count: usize, stream: Option<&Stream>):
                "cuMemsetD8Async" | "hipMemsetD8Async";
            code copy_to_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: Option<&Stream>):
                "cuMemcpyHtoDAsync_v2" | "hipMemcpyHtoDAsync";
            code copy_to_host(to: *mut c_void, from: *mut c_void, bytes: usize, stream: Option<&Stream>):
                "cuMemcpyDtoHAsync_v2" | "hipMemcpyDtoHAsync";
            code copy_on_device(to: *mut c_void, from: *mut c_void, bytes: usize, stream: Option<&Stream>):
                "cuMemcpyDtoDAsync_v2" | "hipMemcpyDtoDAsync";
        }
    }
}
