//! SYCL as another library uses it, through DPCTL's C interface: [`Sycl`].

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, OnceLock};

use dlpack_traits::backend::{OneApi, StreamHandle, WorkStream};
use dlpack_traits::{Device, ffi};
use libloading::Library;

use crate::{functions, skipped};

/// A pointer to an object of SYCL. Tests leak their objects.
pub type Ref = *mut c_void;

functions! {
    Functions {
        DPCTLDeviceMgr_GetDevices(c_int) -> Ref;
        DPCTLDeviceVector_Size(Ref) -> usize;
        DPCTLDeviceVector_GetAt(Ref, usize) -> Ref;
        DPCTLDevice_HasAspect(Ref, c_int) -> bool;
        DPCTLDevice_GetPlatform(Ref) -> Ref;
        DPCTLDevice_CreateSubDevicesEqually(Ref, usize) -> Ref;
        DPCTLPlatform_GetDefaultContext(Ref) -> Ref;
        DPCTLContext_Create(Ref, c_int) -> Ref;
        DPCTLQueue_Create(Ref, Ref, Ref, c_int) -> Ref;
        DPCTLQueue_Memcpy(Ref, Ref, Ref, usize) -> Ref;
        DPCTLQueue_Memset(Ref, Ref, u8, usize) -> Ref;
        DPCTLQueue_Wait(Ref);
        DPCTLQueue_Copy(Ref) -> Ref;
        DPCTLQueue_Delete(Ref);
        DPCTLEvent_Delete(Ref);
        DPCTLmalloc_device(usize, Ref) -> Ref;
        DPCTLmalloc_shared(usize, Ref) -> Ref;
        DPCTLmalloc_host(usize, Ref) -> Ref;
        DPCTLfree_with_queue(Ref, Ref);
    }
}

/// The file with DPCTL's library.
const FILE: &str = "DLPACK_DPCTL";
/// The number that the device with USM must have, if that is known.
const INDEX: &str = "DLPACK_ONEAPI_INDEX";

/// SYCL, and the first device that has USM.
#[derive(Debug)]
pub struct Sycl {
    /// The functions.
    pub calls: Functions,
    /// All root devices.
    pub roots: Vec<Ref>,
    /// The default context of the device with USM.
    pub context: Ref,
    /// Its index among the root devices.
    pub index: usize,
}

// SAFETY: objects of SYCL are for any thread.
unsafe impl Send for Sycl {}
// SAFETY: as above.
unsafe impl Sync for Sycl {}

/// Opens SYCL; `None`, with a message on standard error, where it is missing.
pub fn sycl() -> Option<&'static Sycl> {
    static SYCL: OnceLock<Result<Sycl, String>> = OnceLock::new();
    match SYCL.get_or_init(Sycl::start) {
        Ok(sycl) => Some(sycl),
        Err(reason) => skipped("oneapi", reason),
    }
}

/// Lets one test at a time go on that needs much memory, or time.
pub static ALONE: Mutex<()> = Mutex::new(());

impl Sycl {
    fn start() -> Result<Self, String> {
        let file = std::env::var_os(FILE).ok_or(format!("{FILE} names no library"))?;
        // SAFETY: 1. The variable names DPCTL's library.
        unsafe { OneApi::load(Path::new(&file)) }.map_err(|error| error.to_string())?;
        // SAFETY: it is loaded.
        let library = unsafe { Library::new(&file) }.map_err(|error| error.to_string())?;
        let calls = Functions::load(Box::leak(Box::new(library))).map_err(|e| e.to_string())?;
        // SAFETY: all backends, all devices.
        let devices = unsafe { (calls.DPCTLDeviceMgr_GetDevices)((31 << 16) | 63) };
        // SAFETY: a vector.
        let count = unsafe { (calls.DPCTLDeviceVector_Size)(devices) };
        let at = |index| {
            // SAFETY: a vector, and an index in it.
            unsafe { (calls.DPCTLDeviceVector_GetAt)(devices, index) }
        };
        let roots: Vec<Ref> = (0..count).map(at).collect();
        // SAFETY: a device, and the aspect of USM of the kind device.
        let has_usm = |device: &Ref| unsafe { (calls.DPCTLDevice_HasAspect)(*device, 12) };
        let index = roots.iter().position(has_usm).ok_or("no device of SYCL has USM")?;
        if let Ok(expected) = std::env::var(INDEX) {
            assert_eq!(expected, index.to_string(), "{INDEX}");
        }
        // SAFETY: a device.
        let platform = unsafe { (calls.DPCTLDevice_GetPlatform)(roots[index]) };
        // SAFETY: a platform.
        let context = unsafe { (calls.DPCTLPlatform_GetDefaultContext)(platform) };
        Ok(Self { calls, roots, context, index })
    }

    /// The device with USM.
    pub fn raw_device(&self) -> Ref {
        self.roots[self.index]
    }

    /// The device with USM, as it is exchanged.
    pub fn device(&self) -> Device {
        Device::new(ffi::kDLOneAPI, i32::try_from(self.index).expect("few devices"))
    }

    /// A new queue of the device, in its default context.
    pub fn queue(&self, in_order: bool) -> Ref {
        let properties = if in_order { 2 } else { 0 };
        self.queue_in(self.context, self.raw_device(), properties)
    }

    /// A new queue.
    pub fn queue_in(&self, context: Ref, device: Ref, properties: c_int) -> Ref {
        // SAFETY: a device of the context.
        unsafe { (self.calls.DPCTLQueue_Create)(context, device, ptr::null_mut(), properties) }
    }

    /// A queue as a stream of the crate.
    pub fn stream(&self, queue: Ref) -> WorkStream<OneApi> {
        // SAFETY: 1. A queue of the test.
        unsafe { OneApi::work_stream(self.device(), StreamHandle::from_ptr(queue)) }
            .expect("a queue of the device")
    }

    /// Enqueues bytes.
    pub fn fill(&self, queue: Ref, data: Ref, byte: u8, count: usize) {
        // SAFETY: the test has memory of as many bytes.
        let event = unsafe { (self.calls.DPCTLQueue_Memset)(queue, data, byte, count) };
        // SAFETY: the object belongs to this test and is deleted once.
        unsafe { (self.calls.DPCTLEvent_Delete)(event) }
    }

    /// Enqueues a copy.
    pub fn copy(&self, queue: Ref, from: Ref, to: Ref, count: usize) {
        // SAFETY: the test has memory of as many bytes.
        let event = unsafe { (self.calls.DPCTLQueue_Memcpy)(queue, to, from, count) };
        // SAFETY: the object belongs to this test and is deleted once.
        unsafe { (self.calls.DPCTLEvent_Delete)(event) }
    }

    /// Waits for a queue.
    pub fn wait(&self, queue: Ref) {
        // SAFETY: a queue of the test.
        unsafe { (self.calls.DPCTLQueue_Wait)(queue) }
    }

    /// New memory of the kind device.
    pub fn malloc_device(&self, queue: Ref, count: usize) -> Ref {
        // SAFETY: a queue of the test.
        let data = unsafe { (self.calls.DPCTLmalloc_device)(count, queue) };
        assert!(!data.is_null());
        data
    }

    /// Frees memory on which no work is left.
    pub fn free(&self, queue: Ref, data: Ref) {
        // SAFETY: memory of the test, of the queue's context.
        unsafe { (self.calls.DPCTLfree_with_queue)(data, queue) }
    }
}
