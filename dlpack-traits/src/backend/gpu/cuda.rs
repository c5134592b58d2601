//! What only CUDA does: contexts, and questions about pointers.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::boxed::Box;
use std::sync::OnceLock;

use libloading::Library;

use super::Gpu;
use super::calls::calls;
use super::runtime::{Runtime, Vendor};
use crate::backend::library::function;
use crate::backend::{Attributes, StreamHandle, StreamRules};
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
    CudaCalls {
        context_retain(context: *mut *mut c_void, ordinal: c_int): "cuDevicePrimaryCtxRetain";
        context_release(ordinal: c_int): "cuDevicePrimaryCtxRelease_v2";
        context_current(context: *mut *mut c_void): "cuCtxGetCurrent";
        context_push(context: *mut c_void): "cuCtxPushCurrent_v2";
        context_pop(context: *mut *mut c_void): "cuCtxPopCurrent_v2";
        stream_context(stream: *mut c_void, context: *mut *mut c_void): "cuStreamGetCtx";
        pointer_attribute(answer: *mut c_void, attribute: c_uint, data: *mut c_void):
            "cuPointerGetAttribute";
    }
}

/// What only CUDA has.
#[derive(Debug)]
pub struct Own {
    calls: CudaCalls,
    /// The primary context of each GPU, once it was needed. It is retained for
    /// as long as the process lives, as CUDA's own runtime does.
    contexts: Box<[AtomicPtr<c_void>]>,
}

/// Keeps a context current. Without a GPU's context none of CUDA's calls work,
/// and a deleter comes on threads that have none.
#[derive(Debug)]
pub struct Current {
    /// The calls to take it away again with, if it was not current before.
    pushed: Option<(&'static CudaCalls, Device)>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some((calls, device)) = self.pushed {
            // SAFETY: 1. NULL: nobody wants to know. An error has nobody to tell.
            let _ = unsafe { calls.context_pop(device, ptr::null_mut()) };
        }
    }
}

/// The primary context of a GPU.
fn context(
    runtime: &'static Runtime<CudaDriver>,
    device: Device,
    ordinal: i32,
) -> Result<*mut c_void, Error> {
    let own = &runtime.own;
    let index = usize::try_from(ordinal).map_err(|_| Error::NoBackend { device })?;
    let known = own.contexts.get(index).ok_or(Error::NoBackend { device })?;
    let context = known.load(Ordering::Acquire);
    if !context.is_null() {
        return Ok(context);
    }
    let mut retained = ptr::null_mut();
    // SAFETY: 1. A GPU that exists, and a place for the answer.
    unsafe { own.calls.context_retain(device, &raw mut retained, ordinal) }?;
    // Two threads that do this get the same context, and one reference is enough.
    if !known.swap(retained, Ordering::AcqRel).is_null() {
        // SAFETY: 1. It was just retained.
        unsafe { own.calls.context_release(device, ordinal) }?;
    }
    Ok(retained)
}

/// What `CUpointer_attribute` numbers.
mod attribute {
    pub(super) const MEMORY_TYPE: u32 = 2;
    pub(super) const IS_MANAGED: u32 = 8;
    pub(super) const DEVICE_ORDINAL: u32 = 9;
}

/// `CU_MEMORYTYPE_HOST`.
const HOST: c_uint = 1;
/// `CUDA_ERROR_INVALID_VALUE`: the pointer is not CUDA's.
const INVALID_VALUE: c_int = 1;

/// One answer about a pointer; `None` if it is not CUDA's.
///
/// # Safety
///
/// 1. `T` is the type that is documented for the attribute, and all its bits may
///    be zero.
unsafe fn ask<T>(
    calls: &CudaCalls,
    hint: Device,
    data: *mut c_void,
    attribute: u32,
) -> Result<Option<T>, Error> {
    let mut answer = MaybeUninit::<T>::zeroed();
    // SAFETY: 1. By 1 the answer has a place. The pointer is not followed.
    match unsafe { calls.pointer_attribute(hint, answer.as_mut_ptr().cast(), attribute, data) } {
        // SAFETY: it was answered, and by 1 was a value before too.
        Ok(()) => Ok(Some(unsafe { answer.assume_init() })),
        Err(Error::Device { code: INVALID_VALUE, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Vendor for CudaDriver {
    const DEVICE_TYPES: &'static [DLDeviceType] =
        &[ffi::kDLCUDA, ffi::kDLCUDAHost, ffi::kDLCUDAManaged];
    const DEVICE: DLDeviceType = ffi::kDLCUDA;
    const PINNED: DLDeviceType = ffi::kDLCUDAHost;
    const RULES: StreamRules = StreamRules::CUDA;
    const LIBRARIES: &'static [&'static str] =
        if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };
    const NAMES: usize = 0;
    type Own = Own;
    type Current = Current;

    fn loaded() -> &'static OnceLock<Result<Runtime<Self>, Error>> {
        static LOADED: OnceLock<Result<Runtime<CudaDriver>, Error>> = OnceLock::new();
        &LOADED
    }

    unsafe fn load_own(library: &Library, devices: usize) -> Result<Own, Error> {
        let contexts = (0..devices).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        // SAFETY: 1. By 1.
        let calls = unsafe { CudaCalls::load(library, Device::cuda(0), Self::NAMES) }?;
        Ok(Own { calls, contexts })
    }

    fn enter(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
    ) -> Result<Current, Error> {
        let wanted = context(runtime, device, ordinal)?;
        let calls = &runtime.own.calls;
        let mut current = ptr::null_mut();
        // SAFETY: 1. The answer has a place.
        unsafe { calls.context_current(device, &raw mut current) }?;
        if current == wanted {
            return Ok(Current { pushed: None });
        }
        // SAFETY: 1. It is retained as long as the process lives.
        unsafe { calls.context_push(device, wanted) }?;
        Ok(Current { pushed: Some((calls, device)) })
    }

    unsafe fn check_stream(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
        handle: StreamHandle,
    ) -> Result<(), Error> {
        // Default streams are those of the current context.
        if handle.number() <= 2 {
            return Ok(());
        }
        let mut found = ptr::null_mut();
        // SAFETY: 1. By 1 the stream is alive, and the answer has a place.
        unsafe { runtime.own.calls.stream_context(device, handle.as_ptr(), &raw mut found) }?;
        if found == context(runtime, device, ordinal)? {
            return Ok(());
        }
        Err(Error::Unsupported { device, what: "stream of another device or context" })
    }

    fn attributes(
        runtime: &'static Runtime<Self>,
        data: *mut c_void,
        hint: Device,
    ) -> Result<Option<Attributes>, Error> {
        let calls = &runtime.own.calls;
        // First, because managed memory counts as the device's for the others.
        // SAFETY: 1. A byte is documented.
        let managed = unsafe { ask::<u8>(calls, hint, data, attribute::IS_MANAGED) }?;
        if managed.is_some_and(|managed| managed != 0) {
            let device = Device::CUDA_MANAGED;
            return Ok(Some(Attributes { device, host_accessible: true }));
        }
        // SAFETY: 1. A number of 32 bits is documented.
        let kind = unsafe { ask::<c_uint>(calls, hint, data, attribute::MEMORY_TYPE) }?;
        if kind == Some(HOST) {
            let device = Device::CUDA_HOST;
            return Ok(Some(Attributes { device, host_accessible: true }));
        }
        if kind.is_none() {
            return Ok(None);
        }
        // SAFETY: 1. As above.
        let ordinal = unsafe { ask::<c_int>(calls, hint, data, attribute::DEVICE_ORDINAL) }?;
        let gpu = |ordinal| Attributes { device: Device::cuda(ordinal), host_accessible: false };
        Ok(ordinal.map(gpu))
    }
}
