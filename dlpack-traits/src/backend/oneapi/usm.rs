//! Whose memory an address is: the protocol by which libraries of SYCL exchange
//! USM as kDLOneAPI.
//!
//! The order of the questions matters. DPCTL does not catch what SYCL throws
//! where the device has no USM, and where the address is none: so the aspects
//! come first, then the kind, and the device of an address last.

use core::ffi::{c_int, c_void};

use super::OneApi;
use super::calls::Ref;
use super::runtime::{Runtime, runtime};
use crate::backend::{Attributes, PointerAttributes};
use crate::device::Device;
use crate::error::Error;

/// A kind of unified shared memory (USM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsmKind {
    /// The device's: the processor must not touch it.
    Device,
    /// The device's and the host's, which moves between them.
    Shared,
    /// The host's, which devices reach.
    Host,
}

impl UsmKind {
    /// `DPCTLSyclUSMType`.
    fn of(code: c_int) -> Option<Self> {
        match code {
            1 => Some(Self::Device),
            2 => Some(Self::Shared),
            3 => Some(Self::Host),
            _ => None,
        }
    }

    /// Whether the processor may follow the address.
    pub const fn host_accessible(self) -> bool {
        matches!(self, Self::Shared | Self::Host)
    }
}

/// What is known of an allocation of USM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usm {
    device: Device,
    kind: UsmKind,
}

impl Usm {
    /// The root device, by the number under which it is exchanged. Of memory of
    /// the host it is the one that was asked about, or the first of the context.
    pub const fn device(self) -> Device {
        self.device
    }

    /// The kind of memory.
    pub const fn kind(self) -> UsmKind {
        self.kind
    }
}

/// What an address is in a context of a device that has USM.
///
/// # Safety
///
/// 1. `context` is a context of SYCL whose devices have USM.
unsafe fn find(
    runtime: &'static Runtime,
    data: Ref,
    context: Ref,
    unknown: Device,
) -> Result<Usm, Error> {
    let not_usm = Error::NoBackend { device: unknown };
    if data.is_null() {
        return Err(not_usm);
    }
    let calls = runtime.calls;
    // SAFETY: 1. A context, by 1. The address is not followed.
    let kind = UsmKind::of(unsafe { calls.DPCTLUSM_GetPointerType(data, context) });
    let kind = kind.ok_or(not_usm)?;
    // SAFETY: 1. USM of the context: for anything else this would throw.
    let found = unsafe { calls.DPCTLUSM_GetPointerDevice(unknown, data, context) }?;
    // SAFETY: 1. A device.
    let device = unsafe { runtime.number_of(found.raw()) }.ok_or(not_usm)?;
    Ok(Usm { device, kind })
}

impl OneApi {
    /// Recognises imported memory: what is at an address that came with
    /// `device`. It is not followed.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`] for a device that does not exist, and for an address
    /// that is not bound to the default context of its platform;
    /// [`Error::DeviceMismatch`] where the memory is another root device's;
    /// [`Error::Unsupported`] for a device without USM.
    pub fn recognize(data: *const c_void, device: Device) -> Result<Usm, Error> {
        let runtime = runtime()?;
        let root = runtime.root(device)?;
        if !root.has_usm(runtime.calls) {
            return Err(Error::Unsupported { device, what: "unified shared memory" });
        }
        // SAFETY: 1. Its own context, and it has USM.
        let found = unsafe { find(runtime, data.cast_mut(), root.context.raw(), device) }?;
        if found.kind == UsmKind::Host {
            return Ok(Usm { device, ..found });
        }
        if found.device == device {
            return Ok(found);
        }
        Err(Error::DeviceMismatch { device, storage: found.device })
    }

    /// Under which number memory can be exported: the index of its root device,
    /// if it is bound to the default context of the platform.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for another context, [`Error::NoBackend`] for an
    /// address that is not of this one.
    ///
    /// # Safety
    ///
    /// 1. `context` is a pointer to a `sycl::context` that is alive.
    pub unsafe fn exported(data: *const c_void, context: *mut c_void) -> Result<Usm, Error> {
        let runtime = runtime()?;
        let calls = runtime.calls;
        let none = Device::new(crate::ffi::kDLOneAPI, 0);
        let mut of_context = runtime.roots.iter().filter(|root| {
            // SAFETY: 1. Two contexts, one of them by 1.
            unsafe { calls.DPCTLContext_AreEq(root.context.raw(), context) }
        });
        let what = "way to export memory of a context that is not its platform's default";
        let root = of_context.next().ok_or(Error::Unsupported { device: none, what })?;
        if !root.has_usm(calls) {
            return Err(Error::Unsupported { device: none, what: "unified shared memory" });
        }
        // SAFETY: 1. A context, by 1, of a device that has USM.
        unsafe { find(runtime, data.cast_mut(), context, none) }
    }
}

// SAFETY: 1. It is what SYCL documents.
unsafe impl PointerAttributes for OneApi {
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let found = match Self::recognize(data, hint) {
            Ok(found) => found,
            // Whose it is, is the answer.
            Err(Error::DeviceMismatch { storage, .. }) => Self::recognize(data, storage)?,
            Err(error) => return Err(error),
        };
        let host_accessible = found.kind.host_accessible();
        Ok(Attributes { device: found.device, host_accessible })
    }
}
