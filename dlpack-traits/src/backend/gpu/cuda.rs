//! The parts that only CUDA needs: contexts, pointer attributes, and frees after all pending work.
//!
//! A consumer's stream may be destroyed before the consumer releases its tensor, so memory that it
//! used is freed after all work of the primary context. Before CUDA 12.5 only the host can wait for
//! that: a release during a kernel of 0.32 s took as long (on an H200). Since then, one event
//! records all work of a context, that of destroyed streams included.
//!
//! The frees are enqueued on a stream of their own: the buffer's stream would have to wait for
//! unrelated work of other libraries before its next kernel. There is one for each context; with
//! one for each free, 3,000 frees during a kernel took 264 µs each, and with one for all 9 µs.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::boxed::Box;
use std::sync::OnceLock;

use libloading::Library;

use super::Gpu;
use super::stream::{GpuEvent, GpuStream};
use super::vendor::{AllWork, Event, Runtime, Vendor};
use crate::backend::append_list::AppendList;
use crate::backend::library::calls;
use crate::backend::{Attributes, MemoryType, Stream as _, StreamHandle, StreamRules};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

/// CUDA: memory of the GPU, pinned memory of the host, and managed memory.
///
/// ```no_run
/// use dlpack_traits::backend::{Cuda, DeviceBuffer};
/// use dlpack_traits::{DataType, Device};
///
/// let zeros = DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::F32, 1024)?;
/// assert_eq!(zeros.to_vec::<f32>()?, [0.0; 1024]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub type Cuda = Gpu<CudaDriver>;

/// The driver of NVIDIA's GPUs, `libcuda`.
#[derive(Clone, Copy, Debug)]
pub struct CudaDriver;

calls! {
    /// Functions that only CUDA has.
    extern "C" CudaCalls {
        safe {
            code device_get(device: &mut c_int, ordinal: c_int): "cuDeviceGet";
            code context_retain(context: &mut *mut c_void, gpu: c_int): "cuDevicePrimaryCtxRetain";
            code context_current(context: &mut *mut c_void): "cuCtxGetCurrent";
        }
        unsafe {
            code context_release(gpu: c_int): "cuDevicePrimaryCtxRelease_v2";
            code context_push(context: *mut c_void): "cuCtxPushCurrent_v2";
            code context_pop(context: *mut *mut c_void): "cuCtxPopCurrent_v2";
            code stream_context(stream: *mut c_void, context: *mut *mut c_void): "cuStreamGetCtx";
            code pointer_attribute(answer: *mut c_void, attribute: c_uint, data: *mut c_void):
                "cuPointerGetAttribute";
        }
    }
}

calls! {
    /// Functions of drivers for CUDA 12.5 and later.
    extern "C" ContextCalls {
        safe {
            code stream_create(stream: &mut *mut c_void, flags: c_uint): "cuStreamCreate";
            code event_query(event: &Event): "cuEventQuery";
        }
        unsafe {
            code context_id(context: *mut c_void, id: *mut u64): "cuCtxGetId";
            code context_record(context: *mut c_void, event: &Event): "cuCtxRecordEvent";
        }
    }
}

/// The state that only CUDA needs.
#[derive(Debug)]
pub struct State {
    calls: CudaCalls,
    /// Drivers before CUDA 12.5 lack one of them.
    context_calls: Option<ContextCalls>,
    gpus: Box<[CudaGpu]>,
}

/// A GPU of CUDA.
#[derive(Debug)]
struct CudaGpu {
    /// Its `CUdevice`. CUDA does not document that this is the ordinal.
    handle: c_int,
    /// Its primary context, NULL until the first use. It is retained until the process
    /// ends, as by CUDA's own runtime.
    context: AtomicPtr<c_void>,
    /// The stream for frees in each of its contexts, by the context's id: a reset of the GPU
    /// destroys the context and its streams, and the next context has another id.
    free_streams: AppendList<(u64, StreamHandle)>,
}

/// A guard that keeps a context current. CUDA's calls fail without a current context, and a
/// consumer may call a deleter on a thread that has none.
#[derive(Debug)]
pub struct Current {
    /// The calls for popping the context, if it was not current before.
    pushed: Option<(&'static CudaCalls, Device)>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some((calls, device)) = self.pushed {
            // SAFETY: 1. NULL: the popped context is not wanted. An error cannot be
            // reported here.
            let _ = unsafe { calls.context_pop(device, ptr::null_mut()) };
        }
    }
}

impl State {
    fn gpu(&self, device: Device, ordinal: i32) -> Result<&CudaGpu, Error> {
        let index = usize::try_from(ordinal).ok();
        index.and_then(|index| self.gpus.get(index)).ok_or(Error::NoBackend { device })
    }

    /// Returns the primary context of a GPU.
    fn context(&self, device: Device, gpu: &CudaGpu) -> Result<*mut c_void, Error> {
        let context = gpu.context.load(Ordering::Acquire);
        if context.is_null() { self.retain(device, gpu) } else { Ok(context) }
    }

    fn retain(&self, device: Device, gpu: &CudaGpu) -> Result<*mut c_void, Error> {
        let mut retained = ptr::null_mut();
        self.calls.context_retain(device, &mut retained, gpu.handle)?;
        // Two threads may retain the same context here; one reference is enough.
        if !gpu.context.swap(retained, Ordering::AcqRel).is_null() {
            // SAFETY: 1. It was just retained.
            unsafe { self.calls.context_release(device, gpu.handle) }?;
        }
        Ok(retained)
    }

    /// The primary context of the GPU with this ordinal.
    fn context_of(&self, device: Device, ordinal: i32) -> Result<*mut c_void, Error> {
        self.context(device, self.gpu(device, ordinal)?)
    }

    /// Pushes the primary context of a GPU, regardless of the current one.
    pub(super) fn push(&'static self, device: Device, ordinal: i32) -> Result<Current, Error> {
        let gpu = self.gpu(device, ordinal)?;
        let context = self.context(device, gpu)?;
        // SAFETY: 1. It was retained; the driver checks whether it was destroyed since.
        let pushed = match unsafe { self.calls.context_push(device, context) } {
            Err(Error::Device { code: CONTEXT_IS_DESTROYED | INVALID_CONTEXT, .. }) => {
                // Other code in this process reset the GPU, which also released our
                // reference. The first thread that detects this retains the new context.
                let known = &gpu.context;
                let null = ptr::null_mut();
                let _ = known.compare_exchange(context, null, Ordering::AcqRel, Ordering::Relaxed);
                let context = self.context(device, gpu)?;
                // SAFETY: 1. It was just retained.
                unsafe { self.calls.context_push(device, context) }
            }
            outcome => outcome,
        };
        pushed?;
        Ok(Current { pushed: Some((&self.calls, device)) })
    }
}

impl CudaGpu {
    /// Returns the stream for frees in the current context. The first call creates it, and it is
    /// kept as long as the context.
    fn free_stream(
        &self,
        calls: &'static ContextCalls,
        device: Device,
        context: *mut c_void,
    ) -> Result<StreamHandle, Error> {
        let mut id = 0;
        // SAFETY: 1. The context is current, and `id` is a place for the result.
        unsafe { calls.context_id(device, context, &raw mut id) }?;
        if let Some(&(_, stream)) = self.free_streams.iter().find(|(of, _)| *of == id) {
            return Ok(stream);
        }
        let mut raw = ptr::null_mut();
        calls.stream_create(device, &mut raw, NON_BLOCKING)?;
        if raw.is_null() {
            return Err(Error::Unsupported { device, what: "streams" });
        }
        let stream = StreamHandle::from_ptr(raw);
        // Two threads may each create one.
        self.free_streams.append((id, stream));
        Ok(stream)
    }
}

/// Returns a stream whose later work begins after all work that is enqueued in the primary context
/// of the GPU, which is current; `None` if no work is pending.
fn stream_after_all(
    runtime: &'static Runtime<CudaDriver>,
    calls: &'static ContextCalls,
    device: Device,
    ordinal: i32,
) -> Result<Option<StreamHandle>, Error> {
    let event = GpuEvent::new(runtime, device, ordinal)?;
    let (state, mut context) = (&runtime.state, ptr::null_mut());
    state.calls.context_current(device, &mut context)?;
    // SAFETY: 1. The context is current, and the event was created in it.
    unsafe { calls.context_record(device, context, event.get()) }?;
    match calls.event_query(device, event.get()) {
        Ok(()) => return Ok(None),
        Err(Error::Device { code: NOT_READY, .. }) => {}
        Err(error) => return Err(error),
    }
    let stream = state.gpu(device, ordinal)?.free_stream(calls, device, context)?;
    GpuStream::<CudaDriver>::new(device, ordinal, stream).wait(&event)?;
    Ok(Some(stream))
}

/// Values of `CUpointer_attribute`.
mod attribute {
    pub(super) const MEMORY_TYPE: u32 = 2;
    pub(super) const IS_MANAGED: u32 = 8;
    pub(super) const DEVICE_ORDINAL: u32 = 9;
}

/// `CU_MEMORYTYPE_HOST`.
const HOST: c_uint = 1;
/// `CUDA_ERROR_INVALID_VALUE`: the pointer is not CUDA's.
const INVALID_VALUE: i64 = 1;
/// `CUDA_ERROR_INVALID_CONTEXT`: no context is current.
const INVALID_CONTEXT: i64 = 201;
/// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
const CONTEXT_IS_DESTROYED: i64 = 709;
/// `CUDA_ERROR_NOT_READY`: work that the event recorded is pending.
const NOT_READY: i64 = 600;
/// `CU_STREAM_NON_BLOCKING`: the stream does not synchronize with the legacy default stream.
const NON_BLOCKING: c_uint = 1;

/// Queries one attribute of a pointer; `None` if the pointer is not CUDA's. Bytes that the
/// driver does not write are zero.
///
/// CUDA documents no width for booleans. The widest attribute has eight bytes, so each
/// query has space for eight.
fn ask(question: impl FnOnce(*mut c_void) -> Result<(), Error>) -> Result<Option<[u8; 8]>, Error> {
    let mut answer = 0_u64;
    match question((&raw mut answer).cast()) {
        Ok(()) => Ok(Some(answer.to_ne_bytes())),
        Err(Error::Device { code: INVALID_VALUE, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a result of 32 bits.
fn number([a, b, c, d, ..]: [u8; 8]) -> u32 {
    u32::from_ne_bytes([a, b, c, d])
}

/// Reads a boolean result of any width.
fn boolean(answer: [u8; 8]) -> bool {
    answer != [0; 8]
}

impl Vendor for CudaDriver {
    const MEMORY_TYPES: &'static [MemoryType] = &[
        MemoryType::with_addresses(ffi::kDLCUDA),
        MemoryType::with_addresses(ffi::kDLCUDAHost).read_by_host(),
        MemoryType::with_addresses(ffi::kDLCUDAManaged).read_by_host(),
    ];
    const DEVICE: DLDeviceType = ffi::kDLCUDA;
    const PINNED: DLDeviceType = ffi::kDLCUDAHost;
    const RULES: StreamRules = StreamRules::CUDA;
    const STREAM_METHOD: Option<&'static str> = Some("__cuda_stream__");
    const LIBRARIES: &'static [&'static str] =
        if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };
    const TEXT_OF_CODE: &'static str = "cuGetErrorString";
    const NAMES: usize = 0;
    type State = State;
    type Current = Current;

    fn loaded() -> &'static OnceLock<Result<Runtime<Self>, Error>> {
        static LOADED: OnceLock<Result<Runtime<CudaDriver>, Error>> = OnceLock::new();
        &LOADED
    }

    unsafe fn load_state(library: &Library, devices: usize) -> Result<State, Error> {
        // SAFETY: 1. By our caller's 1.
        let calls = unsafe { CudaCalls::load(library, Device::cuda(0), Self::NAMES) }?;
        let gpu = |ordinal| {
            let ordinal = i32::try_from(ordinal).map_err(|_| Error::SizeOverflow)?;
            let mut handle = 0;
            calls.device_get(Device::cuda(ordinal), &mut handle, ordinal)?;
            let context = AtomicPtr::new(ptr::null_mut());
            Ok(CudaGpu { handle, context, free_streams: AppendList::new() })
        };
        let gpus = (0..devices).map(gpu).collect::<Result<_, Error>>()?;
        // SAFETY: 1. By our caller's 1.
        let context_calls = unsafe { ContextCalls::load(library, Device::cuda(0), Self::NAMES) };
        Ok(State { calls, context_calls: context_calls.ok(), gpus })
    }

    fn enter(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
    ) -> Result<Current, Error> {
        let state = &runtime.state;
        let wanted = state.context_of(device, ordinal)?;
        let mut current = ptr::null_mut();
        state.calls.context_current(device, &mut current)?;
        if current == wanted { Ok(Current { pushed: None }) } else { state.push(device, ordinal) }
    }

    fn all_work(runtime: &'static Runtime<Self>, device: Device, ordinal: i32) -> AllWork {
        let Some(calls) = &runtime.state.context_calls else { return AllWork::Unknown };
        match stream_after_all(runtime, calls, device, ordinal) {
            Ok(Some(stream)) => AllWork::Before(stream),
            Ok(None) => AllWork::Done,
            // The caller waits for the device on the host.
            Err(_) => AllWork::Unknown,
        }
    }

    unsafe fn check_stream(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
        handle: StreamHandle,
    ) -> Result<(), Error> {
        // Handles 0 to 2 name default streams of the current context.
        if handle.number() <= 2 {
            return Ok(());
        }
        let (state, mut found) = (&runtime.state, ptr::null_mut());
        // SAFETY: 1. By our caller's 1 the stream is alive, and `found` is a place for the
        // result.
        unsafe { state.calls.stream_context(device, handle.as_ptr(), &raw mut found) }?;
        if found == state.context_of(device, ordinal)? {
            return Ok(());
        }
        Err(Error::Unsupported { device, what: "stream of another device or context" })
    }

    fn attributes(
        runtime: &'static Runtime<Self>,
        data: *mut c_void,
        hint: Device,
    ) -> Result<Option<Attributes>, Error> {
        let state = &runtime.state;
        let ask = |attribute| {
            ask(|answer| {
                let calls = &state.calls;
                // SAFETY: 1. `answer` is a place of eight bytes, enough for any attribute.
                // The pointer is not dereferenced.
                let ask = || unsafe { calls.pointer_attribute(hint, answer, attribute, data) };
                match ask() {
                    // CUDA does not document whether a context is needed. If it is, any
                    // context is sufficient. A context takes memory on its GPU, so it is
                    // only created if needed.
                    Err(Error::Device { code: INVALID_CONTEXT, .. }) => {
                        let ordinal = runtime.ordinal(hint).unwrap_or(0);
                        let _current = state.push(hint, ordinal)?;
                        ask()
                    }
                    outcome => outcome,
                }
            })
        };
        // Managed memory is checked first, because the other attributes report it as device
        // memory.
        if ask(attribute::IS_MANAGED)?.is_some_and(boolean) {
            let device = Device::CUDA_MANAGED;
            return Ok(Some(Attributes { device, host_accessible: true }));
        }
        let Some(kind) = ask(attribute::MEMORY_TYPE)?.map(number) else {
            return Ok(None);
        };
        if kind == HOST {
            let device = Device::CUDA_HOST;
            return Ok(Some(Attributes { device, host_accessible: true }));
        }
        let ordinal = ask(attribute::DEVICE_ORDINAL)?.map(number);
        Ok(ordinal.map(|ordinal| {
            let ordinal = i32::from_ne_bytes(ordinal.to_ne_bytes());
            Attributes { device: Device::cuda(ordinal), host_accessible: false }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CUDA documents no width for booleans: writing eight bytes stays in bounds, and a
    /// single byte is read correctly.
    #[test]
    fn an_answer_has_room_for_any_boolean() {
        let answered = |bytes: &[u8]| {
            ask(|place| {
                // SAFETY: `ask` passes a place of eight bytes.
                unsafe { place.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                Ok(())
            })
            .map(|answer| answer.is_some_and(boolean))
        };
        assert_eq!(answered(&[1]), Ok(true));
        assert_eq!(answered(&[0]), Ok(false));
        assert_eq!(answered(&[0, 1, 0, 0]), Ok(true));
        assert_eq!(answered(&[0, 0, 0, 0, 0, 0, 0, 1]), Ok(true));
    }
}
