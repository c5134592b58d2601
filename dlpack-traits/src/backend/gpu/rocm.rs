//! The parts that only ROCm needs: a current device, and pointer attributes.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use std::sync::OnceLock;

use libloading::Library;

use super::Gpu;
use super::vendor::{Runtime, Vendor};
use crate::backend::library::calls;
use crate::backend::{Attributes, MemoryType, StreamHandle, StreamRules};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::{self, DLDeviceType};

/// ROCm: memory of the GPU, and pinned memory of the host.
///
/// It has only been run on a simulator, never on a GPU.
///
/// ```no_run
/// use dlpack_traits::backend::{DeviceBuffer, Rocm};
/// use dlpack_traits::{DataType, Device};
///
/// let zeros = DeviceBuffer::<Rocm>::zeroed(Device::rocm(0), DataType::F32, 1024)?;
/// assert_eq!(zeros.to_vec::<f32>()?, [0.0; 1024]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub type Rocm = Gpu<HipRuntime>;

/// The runtime of AMD's GPUs, `libamdhip64`.
#[derive(Clone, Copy, Debug)]
pub struct HipRuntime;

calls! {
    /// Functions that only ROCm has.
    extern "C" HipCalls {
        safe {
            code device_get(ordinal: &mut c_int): "hipGetDevice";
            code device_set(ordinal: c_int): "hipSetDevice";
            code version(version: &mut c_int): "hipRuntimeGetVersion";
        }
        unsafe {
            code pointer_attributes(answer: *mut PointerAttribute, data: *mut c_void):
                "hipPointerGetAttributes";
        }
    }
}

calls! {
    /// The function that early versions of ROCm 5 lack.
    extern "C" StreamCalls {
        unsafe {
            code stream_device(stream: *mut c_void, ordinal: *mut c_int): "hipStreamGetDevice";
        }
    }
}

/// The state that only ROCm needs.
#[derive(Debug)]
pub struct State {
    calls: HipCalls,
    stream_calls: Option<StreamCalls>,
    /// How this version of the runtime numbers kinds of memory.
    kinds: MemoryTypeCodes,
}

/// `hipMemoryType`.
#[derive(Clone, Copy, Debug)]
struct MemoryTypeCodes {
    host: c_uint,
    device: c_uint,
}

/// From ROCm 6 on, the numbers are those of CUDA, and 0 is memory that is not ROCm's.
const FIRST_WITH_NUMBERS_OF_CUDA: c_int = 60_000_000;
/// `hipErrorInvalidValue`: before ROCm 6, the pointer is not ROCm's.
const INVALID_VALUE: i64 = 1;

/// `hipPointerAttribute_t`, with space for fields that later versions append.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PointerAttribute {
    kind: c_uint,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    is_managed: c_int,
    flags: c_uint,
    later: [usize; 8],
}

/// A guard that keeps a GPU current, and restores the previous one.
#[derive(Debug)]
pub struct Current {
    before: Option<(&'static HipCalls, Device, c_int)>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some((calls, device, ordinal)) = self.before {
            // An error cannot be reported here.
            let _ = calls.device_set(device, ordinal);
        }
    }
}

impl Vendor for HipRuntime {
    const MEMORY_TYPES: &'static [MemoryType] = &[
        MemoryType::with_addresses(ffi::kDLROCM),
        MemoryType::with_addresses(ffi::kDLROCMHost).read_by_host(),
    ];
    const DEVICE: DLDeviceType = ffi::kDLROCM;
    const PINNED: DLDeviceType = ffi::kDLROCMHost;
    const RULES: StreamRules = StreamRules::ROCM;
    const STREAM_METHOD: Option<&'static str> = None;
    const LIBRARIES: &'static [&'static str] = if cfg!(windows) {
        &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
    } else {
        &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
    };
    const TEXT_OF_CODE: &'static str = "hipDrvGetErrorString";
    const NAMES: usize = 1;
    type State = State;
    type Current = Current;

    fn loaded() -> &'static OnceLock<Result<Runtime<Self>, Error>> {
        static LOADED: OnceLock<Result<Runtime<HipRuntime>, Error>> = OnceLock::new();
        &LOADED
    }

    unsafe fn load_state(library: &Library, _: usize) -> Result<State, Error> {
        let device = Device::rocm(0);
        // SAFETY: 1. By our caller's 1. Only one vendor has these functions, so the index
        // is 0.
        let calls = unsafe { HipCalls::load(library, device, 0) }?;
        // SAFETY: 1. By our caller's 1.
        let stream_calls = unsafe { StreamCalls::load(library, device, 0) }.ok();
        let mut version = 0;
        calls.version(device, &mut version)?;
        let kinds = if version >= FIRST_WITH_NUMBERS_OF_CUDA {
            MemoryTypeCodes { host: 1, device: 2 }
        } else {
            MemoryTypeCodes { host: 0, device: 1 }
        };
        Ok(State { calls, stream_calls, kinds })
    }

    fn enter(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
    ) -> Result<Current, Error> {
        let calls = &runtime.state.calls;
        let mut before = 0;
        calls.device_get(device, &mut before)?;
        if before == ordinal {
            return Ok(Current { before: None });
        }
        calls.device_set(device, ordinal)?;
        Ok(Current { before: Some((calls, device, before)) })
    }

    /// ROCm has no contexts, and some of its calls work across GPUs, so the GPU of the
    /// stream is compared. If the runtime cannot report it, any stream is accepted.
    unsafe fn check_stream(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
        handle: StreamHandle,
    ) -> Result<(), Error> {
        // The default stream is that of the current GPU.
        let (Some(calls), false) = (&runtime.state.stream_calls, handle.number() == 0) else {
            return Ok(());
        };
        let mut found = 0;
        // SAFETY: 1. By our caller's 1 the stream is alive, and `found` is a place for the
        // result.
        unsafe { calls.stream_device(device, handle.as_ptr(), &raw mut found) }?;
        if found == ordinal {
            return Ok(());
        }
        Err(Error::Unsupported { device, what: "stream of another device" })
    }

    fn attributes(
        runtime: &'static Runtime<Self>,
        data: *mut c_void,
        hint: Device,
    ) -> Result<Option<Attributes>, Error> {
        let State { calls, kinds, .. } = &runtime.state;
        let mut answer = MaybeUninit::<PointerAttribute>::zeroed();
        // SAFETY: 1. `answer` is a place for the result. The pointer is not dereferenced.
        match unsafe { calls.pointer_attributes(hint, answer.as_mut_ptr(), data) } {
            Ok(()) => {}
            Err(Error::Device { code: INVALID_VALUE, .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
        // SAFETY: the fields are integers and pointers, which were zeroed before the call.
        let answer = unsafe { answer.assume_init() };
        // The standard has no device type for managed memory of ROCm, so it is reported
        // neither as host memory nor as device memory.
        Ok(if answer.is_managed != 0 {
            None
        } else if answer.kind == kinds.host {
            Some(Attributes { device: Device::ROCM_HOST, host_accessible: true })
        } else if answer.kind == kinds.device {
            Some(Attributes { device: Device::rocm(answer.device), host_accessible: false })
        } else {
            None
        })
    }
}
