//! A vendor's runtime, loaded: [`Runtime`], and what vendors do differently:
//! [`Vendor`].

use core::ffi::{c_int, c_uint, c_void};
use core::mem::ManuallyDrop;
use core::sync::atomic::AtomicBool;
use std::boxed::Box;
use std::sync::OnceLock;

use libloading::Library;

use super::calls::Calls;
use crate::backend::{Attributes, StreamHandle, StreamRules, library};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;

/// A vendor of GPUs. Outside of this crate nobody can be one.
pub trait Vendor: Sized + Send + Sync + 'static {
    /// All kinds of memory of the vendor's.
    const DEVICE_TYPES: &'static [DLDeviceType];
    /// Memory of a GPU.
    const DEVICE: DLDeviceType;
    /// Memory of the host that is pinned.
    const PINNED: DLDeviceType;
    /// What consumers mean by the numbers they send as `stream`.
    const RULES: StreamRules;
    /// Names of the library, the best first.
    const LIBRARIES: &'static [&'static str];
    /// Which names of [`Calls`] are the vendor's.
    const NAMES: usize;

    /// What only this vendor has.
    type Own: Send + Sync;
    /// Keeps a GPU current for the thread, and gives back what was before.
    type Current;

    /// Where the loaded runtime is kept.
    fn loaded() -> &'static OnceLock<Result<Runtime<Self>, Error>>;

    /// Looks up what only this vendor has.
    ///
    /// # Safety
    ///
    /// 1. The library is the vendor's, and stays loaded as long as the result.
    unsafe fn load_own(library: &Library, devices: usize) -> Result<Self::Own, Error>;

    /// Makes a GPU current for the thread.
    fn enter(
        runtime: &'static Runtime<Self>,
        device: Device,
        ordinal: i32,
    ) -> Result<Self::Current, Error>;

    /// Refuses a stream of another GPU or context. The GPU is current.
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

    /// What is known of an address; `None` if it is not the vendor's.
    fn attributes(
        runtime: &'static Runtime<Self>,
        data: *mut c_void,
        hint: Device,
    ) -> Result<Option<Attributes>, Error>;
}

/// A vendor's runtime.
#[derive(Debug)]
pub struct Runtime<V: Vendor> {
    pub(super) calls: Calls,
    pub(super) own: V::Own,
    pub(super) devices: usize,
    /// For each GPU, whether it was found to have no memory in the order of streams.
    no_pools: Box<[AtomicBool]>,
}

/// The vendor's runtime, which is loaded by the first call.
pub(super) fn runtime<V: Vendor>() -> Result<&'static Runtime<V>, Error> {
    V::loaded().get_or_init(load).as_ref().map_err(|error| *error)
}

fn load<V: Vendor>() -> Result<Runtime<V>, Error> {
    let library = library::open(V::LIBRARIES)?;
    let device = Device::new(V::DEVICE, 0);
    // SAFETY: 1. It is the vendor's by its name. Once its functions are known, it
    // is never closed: whatever they start may go on.
    let calls = unsafe { Calls::load(&library, device, V::NAMES) }?;
    let library = ManuallyDrop::new(library);
    // SAFETY: 1. The documented argument.
    unsafe { calls.initialize(device, 0) }?;
    let mut count: c_int = 0;
    // SAFETY: 1. The answer has a place.
    unsafe { calls.device_count(device, &raw mut count) }?;
    let devices = usize::try_from(count).unwrap_or(0);
    // SAFETY: 1. As above.
    let own = unsafe { V::load_own(&library, devices) }?;
    let no_pools = (0..devices).map(|_| AtomicBool::new(false)).collect();
    Ok(Runtime { calls, own, devices, no_pools })
}

impl<V: Vendor> Runtime<V> {
    /// The GPU that is meant. The standard gives pinned and managed memory the
    /// index 0, whatever GPU it was allocated for.
    pub(super) fn ordinal(&self, device: Device) -> Result<i32, Error> {
        let known = V::DEVICE_TYPES.contains(&device.device_type());
        let ordinal = device.device_id();
        let exists = usize::try_from(ordinal).is_ok_and(|ordinal| ordinal < self.devices);
        let named = device.device_type() == V::DEVICE || ordinal == 0;
        if known && exists && named { Ok(ordinal) } else { Err(Error::NoBackend { device }) }
    }

    /// Whether a GPU was found to have no memory in the order of streams, as in a virtual
    /// machine with a share of a GPU, and under Windows with an old driver.
    pub(super) fn lacks_pools(&self, device: Device, ordinal: i32) -> Result<&AtomicBool, Error> {
        let known = usize::try_from(ordinal).ok().and_then(|at| self.no_pools.get(at));
        known.ok_or(Error::NoBackend { device })
    }
}

/// Lets this thread allocate, free and wait while other threads capture graphs.
///
/// Such calls are no part of any capture, but a runtime refuses them, and spoils
/// the capture, unless the thread says that it knows.
pub(super) struct Relaxed<V: Vendor> {
    runtime: &'static Runtime<V>,
    before: c_uint,
}

impl<V: Vendor> Relaxed<V> {
    /// `CU_STREAM_CAPTURE_MODE_RELAXED`.
    const MODE: c_uint = 2;

    pub(super) fn new(runtime: &'static Runtime<V>, device: Device) -> Result<Self, Error> {
        let mut before = Self::MODE;
        // SAFETY: 1. A mode, and a place for the one before.
        unsafe { runtime.calls.exchange_capture_mode(device, &raw mut before) }?;
        Ok(Self { runtime, before })
    }
}

impl<V: Vendor> Drop for Relaxed<V> {
    fn drop(&mut self) {
        // SAFETY: 1. The mode that was before, and a place for ours. An error has
        // nobody to tell; the thread would stay relaxed.
        let _ = unsafe {
            self.runtime
                .calls
                .exchange_capture_mode(Device::new(V::DEVICE, 0), &raw mut self.before)
        };
    }
}
