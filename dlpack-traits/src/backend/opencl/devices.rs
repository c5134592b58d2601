//! The loaded OpenCL library and its devices: [`OpenClRuntime`].

use core::ptr;
use std::sync::OnceLock;
use std::vec;
use std::vec::Vec;

use super::queue::OpenClQueue;
use super::sys::{Calls, DeviceId, PARENT, QUEUE_DEVICE, Queue};
use crate::backend::StreamHandle;
use crate::backend::library::{Loaded, Ref};
use crate::device::Device;
use crate::error::Error;
use crate::ffi;

/// Names of the loader, which loads the vendors' libraries.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["OpenCL.dll"]
} else if cfg!(target_vendor = "apple") {
    &["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
} else {
    &["libOpenCL.so.1", "libOpenCL.so"]
};
/// `CL_DEVICE_TYPE_ALL`.
const ALL: u64 = 0xFFFF_FFFF;
/// `CL_DEVICE_NOT_FOUND`: a platform without devices.
const NOT_FOUND: i64 = -1;
/// `CL_PLATFORM_NOT_FOUND_KHR`: a loader without platforms.
const NO_PLATFORM: i64 = -1001;

/// OpenCL's library, and its devices, indexed by device id.
#[derive(Debug)]
pub(super) struct OpenClRuntime {
    pub(super) calls: &'static Calls,
    pub(super) devices: Vec<ClDevice>,
}

/// A root device: one that is not a part of another device.
#[derive(Debug)]
pub(super) struct ClDevice {
    raw: &'static DeviceId,
    /// The default queue, created at the first use, in its own context.
    queue: OnceLock<OpenClQueue>,
}

// SAFETY: 1. The names are those of OpenCL, and by 1 of `OpenCl::load` so is the file.
pub(super) static LOADED: Loaded<Calls, OpenClRuntime> =
    unsafe { Loaded::new(opencl(0), LIBRARIES, Calls::load, OpenClRuntime::new) };

/// Returns the runtime. A failed load is not cached.
pub(super) fn runtime() -> Result<&'static OpenClRuntime, Error> {
    LOADED.runtime()
}

const fn opencl(index: i32) -> Device {
    Device::new(ffi::kDLOpenCL, index)
}

/// Queries a list in two calls: its length, then its entries.
fn list(
    none: i64,
    ask: impl Fn(u32, *mut Ref, *mut u32) -> Result<(), Error>,
) -> Result<Vec<Ref>, Error> {
    let mut count = 0;
    match ask(0, ptr::null_mut(), &raw mut count) {
        Err(Error::Device { code, .. }) if code == none => return Ok(Vec::new()),
        answer => answer?,
    }
    let mut found = vec![ptr::null_mut(); usize::try_from(count).unwrap_or(0)];
    if count != 0 {
        ask(count, found.as_mut_ptr(), ptr::null_mut())?;
    }
    Ok(found)
}

/// Collects the devices of all platforms. A platform that fails, for example because its
/// driver does not match its GPU, has no devices; the others can be used. It is an error if
/// no device is found.
fn of_all<T>(platforms: impl Iterator<Item = Result<Vec<T>, Error>>) -> Result<Vec<T>, Error> {
    let (mut devices, mut failed) = (Vec::new(), None);
    for found in platforms {
        match found {
            Ok(found) => devices.extend(found),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.filter(|_| devices.is_empty()).map_or(Ok(devices), Err)
}

impl OpenClRuntime {
    fn new(calls: &'static Calls) -> Result<Self, Error> {
        // SAFETY: 1. `to` has space for `room` entries, or is NULL; `count` is a place, or
        // NULL.
        let platforms = list(NO_PLATFORM, |room, to, count| unsafe {
            calls.platforms(opencl(0), room, to, count)
        })?;
        let found = platforms.into_iter().map(|platform| {
            list(NOT_FOUND, |room, to, count| {
                // SAFETY: 1. As above; a platform, and all kinds of devices.
                unsafe { calls.devices(opencl(0), platform, ALL, room, to, count) }
            })
        });
        let devices = of_all(found)?.into_iter();
        // SAFETY: these are root devices, which are never released.
        let devices = devices.filter_map(|raw| unsafe { raw.cast::<DeviceId>().as_ref() });
        let devices = devices.map(|raw| ClDevice { raw, queue: OnceLock::new() }).collect();
        Ok(Self { calls, devices })
    }

    fn device(&self, device: Device) -> Result<&ClDevice, Error> {
        let known = device.device_type() == ffi::kDLOpenCL;
        let found = usize::try_from(device.device_id()).ok().and_then(|id| self.devices.get(id));
        found.filter(|_| known).ok_or(Error::NoBackend { device })
    }

    /// Returns the root device that this device is, or is a part of.
    fn number_of(&self, mut device: &DeviceId) -> Option<Device> {
        loop {
            if let Some(index) = self.devices.iter().position(|root| ptr::eq(root.raw, device)) {
                return i32::try_from(index).ok().map(opencl);
            }
            device = self.calls.object(opencl(0), device, PARENT).ok()??;
        }
    }

    /// Returns the queue of a device on which this crate works by default.
    pub(super) fn queue(&'static self, device: Device) -> Result<OpenClQueue, Error> {
        let found = self.device(device)?;
        if let Some(queue) = found.queue.get() {
            return Ok(queue.clone());
        }
        let calls = self.calls;
        // SAFETY: 1. One device; NULL for the properties and the callback is documented.
        let context = unsafe { calls.create_context(device, None, 1, &found.raw, None, None) }?;
        // Without properties the queue is in order.
        let queue = calls.create_queue(device, context.get(), found.raw, 0)?;
        let queue = OpenClQueue::new(self.calls, device, queue)?;
        Ok(found.queue.get_or_init(|| queue).clone())
    }

    /// Borrows the queue behind a handle, if it belongs to the device.
    ///
    /// # Safety
    ///
    /// 1. `handle` is NULL or a `cl_command_queue` that is alive.
    pub(super) unsafe fn borrow_queue(
        &self,
        device: Device,
        handle: StreamHandle,
    ) -> Result<OpenClQueue, Error> {
        let (calls, rule) = (self.calls, "send a `cl_command_queue`");
        let refused = Error::StreamRefused { device, stream: Some(0), rule };
        // SAFETY: by our caller's 1 it is NULL, or a queue that is alive.
        let queue = unsafe { handle.as_ptr().cast::<Queue>().as_ref() }.ok_or(refused)?;
        let of = calls.object(device, queue, QUEUE_DEVICE)?;
        if of.and_then(|of| self.number_of(of)) != Some(device) {
            return Err(Error::Unsupported { device, what: "queue of another device" });
        }
        OpenClQueue::new(calls, device, calls.retained(device, queue)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device_error;

    #[test]
    fn a_platform_that_fails_does_not_hide_the_others() {
        let failed = device_error(opencl(0), "clGetDeviceIDs", -6, "");
        let devices = |platforms: &[Result<Vec<u8>, Error>]| of_all(platforms.iter().cloned());
        assert_eq!(devices(&[Err(failed), Ok(vec![1, 2]), Ok(vec![3])]), Ok(vec![1, 2, 3]));
        assert_eq!(devices(&[Ok(vec![]), Err(failed)]), Err(failed));
        assert_eq!(devices(&[Ok(vec![])]), Ok(vec![]));
        assert_eq!(devices(&[]), Ok(vec![]));
    }
}
