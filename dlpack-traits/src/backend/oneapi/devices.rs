//! The loaded DPCTL library and its devices: [`OneApiRuntime`].

use core::ffi::c_int;
use core::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::vec::Vec;

use super::queue::Queue;
use super::sys::{self, Calls, SyclObject};
use crate::backend::StreamHandle;
use crate::backend::library::Loaded;
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// Names of the library. Python's package `dpctl` contains it, so it is found
/// by its name if a Python program has imported the package.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["DPCTLSyclInterface.dll"]
} else {
    &["libDPCTLSyclInterface.so", "libDPCTLSyclInterface.so.0"]
};
/// `DPCTL_ALL_BACKENDS | DPCTL_ALL`.
const EVERYTHING: c_int = (31 << 16) | 63;
/// `DPCTL_IN_ORDER`.
const IN_ORDER: c_int = 1 << 1;

/// `DPCTLSyclAspectType`: the kinds of USM that a device has.
pub(super) mod aspect {
    use core::ffi::c_int;

    pub(in super::super) const DEVICE: c_int = 12;
    pub(in super::super) const HOST: c_int = 13;
    pub(in super::super) const SHARED: c_int = 14;
}

/// DPCTL's library, and the root devices, indexed by device id.
#[derive(Debug)]
pub(super) struct OneApiRuntime {
    pub(super) calls: &'static Calls,
    pub(super) roots: Vec<Root>,
}

/// A root device: one that is not a part of another device.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) device: SyclObject<sys::Device>,
    /// The default context of its platform.
    pub(super) context: SyclObject<sys::Context>,
    /// The default queue, created at the first use.
    queue: OnceLock<Queue>,
}

// SAFETY: 1. The names are those of DPCTL, and by 1 of `OneApi::load` so is the file.
pub(super) static LOADED: Loaded<Calls, OneApiRuntime> =
    unsafe { Loaded::new(oneapi(0), LIBRARIES, Calls::load, OneApiRuntime::new) };

/// Returns the runtime. A failed load is not cached: Python may import the
/// library later.
pub(super) fn runtime() -> Result<&'static OneApiRuntime, Error> {
    LOADED.runtime()
}

const fn oneapi(index: i32) -> Device {
    Device::new(ffi::kDLOneAPI, index)
}

impl OneApiRuntime {
    fn new(calls: &'static Calls) -> Result<Self, Error> {
        let none = oneapi(0);
        let devices = calls.device_mgr_get_devices(none, EVERYTHING)?;
        let count = calls.device_vector_size(devices.get());
        let roots = (0..count).map(|index| {
            let number = oneapi(i32::try_from(index).unwrap_or(i32::MAX));
            // SAFETY: 1. The vector, and an index in it.
            let device = unsafe { calls.device_vector_get_at(number, devices.get(), index) }?;
            let platform = calls.device_get_platform(number, device.get())?;
            let context = calls.platform_get_default_context(number, platform.get())?;
            Ok(Root { device, context, queue: OnceLock::new() })
        });
        Ok(Self { calls, roots: roots.collect::<Result<_, Error>>()? })
    }

    /// Returns the root device with that number.
    pub(super) fn root(&self, device: Device) -> Result<&Root, Error> {
        let known = device.device_type() == ffi::kDLOneAPI;
        let root = usize::try_from(device.device_id()).ok().and_then(|id| self.roots.get(id));
        root.filter(|_| known).ok_or(Error::NoBackend { device })
    }

    /// Returns the root device that this device is, or is a part of.
    pub(super) fn number_of(&self, device: &sys::Device) -> Option<Device> {
        let calls = self.calls;
        let is_it = |root: &Root| calls.device_are_eq(root.device.get(), device);
        if let Some(index) = self.roots.iter().position(is_it) {
            return i32::try_from(index).ok().map(oneapi);
        }
        // A root device has no parent.
        let parent = calls.device_get_parent_device(oneapi(0), device).ok()?;
        self.number_of(parent.get())
    }

    /// Returns the queue of a device on which this crate works by default.
    pub(super) fn queue(&'static self, device: Device) -> Result<Queue, Error> {
        let root = self.root(device)?;
        if let Some(queue) = root.queue.get() {
            return Ok(queue.clone());
        }
        let (context, handler) = (root.context.get(), ptr::null_mut());
        let raw = root.device.get();
        // SAFETY: 1. A device and its context; NULL for the handler, and the
        // in-order property, are documented.
        let queue = unsafe { self.calls.queue_create(device, context, raw, handler, IN_ORDER) }?;
        let queue = Queue::new(self.calls, device, queue);
        Ok(root.queue.get_or_init(|| queue).clone())
    }

    /// Borrows the queue behind a pointer, if it belongs to the default context of the device.
    ///
    /// # Safety
    ///
    /// 1. `handle` is NULL or a pointer to a `sycl::queue` that is alive.
    pub(super) unsafe fn borrow_queue(
        &self,
        device: Device,
        handle: StreamHandle,
    ) -> Result<Queue, Error> {
        let (root, calls, rule) =
            (self.root(device)?, self.calls, "send the address of a `sycl::queue`");
        let refused = Error::StreamRefused { device, stream: Some(0), rule };
        let raw = NonNull::new(handle.as_ptr()).ok_or(refused)?;
        // SAFETY: by our caller's 1 it is a queue, and alive.
        let queue = unsafe { raw.cast::<sys::Queue>().as_ref() };
        let context = calls.queue_get_context(device, queue)?;
        let found = calls.queue_get_device(device, queue)?;
        let is_default = calls.context_are_eq(context.get(), root.context.get());
        if !is_default || self.number_of(found.get()) != Some(device) {
            return Err(Error::Unsupported { device, what: "queue of another device or context" });
        }
        Ok(Queue::new(calls, device, calls.queue_copy(device, queue)?))
    }
}

impl Root {
    /// Whether the device has memory of that kind.
    pub(super) fn has(&self, calls: &Calls, aspect: c_int) -> bool {
        calls.device_has_aspect(self.device.get(), aspect)
    }

    /// Whether addresses can be queried: without USM the query throws.
    pub(super) fn has_usm(&self, calls: &Calls) -> bool {
        [aspect::DEVICE, aspect::HOST, aspect::SHARED].iter().any(|kind| self.has(calls, *kind))
    }
}
