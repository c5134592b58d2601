//! Whose memory an address is: the protocol by which libraries of SYCL exchange
//! USM as kDLOneAPI.
//!
//! The order of the questions matters. DPCTL does not catch what SYCL throws
//! where the device has no USM, and where the address is none: so the aspects
//! come first, then the kind, and the device of an address last.

use core::ffi::{c_int, c_void};

use super::OneApi;
use super::calls::Ref;
use super::runtime::{Root, Runtime, runtime};
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

/// The questions about addresses in a context, which are asked in the order in which
/// they stand here: each is thrown at if the one before has the answer no.
trait Ask {
    /// Whether the device has USM.
    fn has_usm(&self) -> bool;

    /// The kind of memory, if there is USM of the context.
    fn kind(&self, data: Ref) -> Option<UsmKind>;

    /// The root device of such memory.
    fn device(&self, data: Ref) -> Result<Option<Device>, Error>;
}

/// What an address is.
fn find(ask: &impl Ask, data: Ref, unknown: Device) -> Result<Usm, Error> {
    let not_usm = Error::NoBackend { device: unknown };
    if !ask.has_usm() {
        return Err(Error::Unsupported { device: unknown, what: "unified shared memory" });
    }
    if data.is_null() {
        return Err(not_usm);
    }
    let kind = ask.kind(data).ok_or(not_usm)?;
    let device = ask.device(data)?.ok_or(not_usm)?;
    Ok(Usm { device, kind })
}

/// A context, and a root device of it.
struct Context<'a> {
    runtime: &'static Runtime,
    root: &'a Root,
    raw: Ref,
    unknown: Device,
}

impl<'a> Context<'a> {
    /// # Safety
    ///
    /// 1. `raw` is a context of SYCL, which is alive as long as the result.
    unsafe fn new(runtime: &'static Runtime, root: &'a Root, raw: Ref, unknown: Device) -> Self {
        Self { runtime, root, raw, unknown }
    }
}

impl Ask for Context<'_> {
    fn has_usm(&self) -> bool {
        self.root.has_usm(self.runtime.calls)
    }

    fn kind(&self, data: Ref) -> Option<UsmKind> {
        // SAFETY: 1. A context, by 1 of `new`. The address is not followed.
        UsmKind::of(unsafe { self.runtime.calls.DPCTLUSM_GetPointerType(data, self.raw) })
    }

    fn device(&self, data: Ref) -> Result<Option<Device>, Error> {
        let calls = self.runtime.calls;
        // SAFETY: 1. As above, and `find` knows that it has USM there.
        let found = unsafe { calls.DPCTLUSM_GetPointerDevice(self.unknown, data, self.raw) }?;
        // SAFETY: 1. A device.
        Ok(unsafe { self.runtime.number_of(found.raw()) })
    }
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
        // SAFETY: 1. Its own context, which stays.
        let context = unsafe { Context::new(runtime, root, root.context.raw(), device) };
        let found = find(&context, data.cast_mut(), device)?;
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
        // SAFETY: 1. By 1.
        let context = unsafe { Context::new(runtime, root, context, none) };
        find(&context, data.cast_mut(), none)
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

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use core::ptr;
    use std::vec::Vec;

    use super::*;

    const DEVICE: Device = Device::new(crate::ffi::kDLOneAPI, 0);

    /// A context that writes down what it is asked.
    struct Answers {
        has_usm: bool,
        kind: Option<UsmKind>,
        device: Option<Device>,
        asked: RefCell<Vec<&'static str>>,
    }

    impl Ask for Answers {
        fn has_usm(&self) -> bool {
            self.asked.borrow_mut().push("aspects");
            self.has_usm
        }

        fn kind(&self, _: Ref) -> Option<UsmKind> {
            self.asked.borrow_mut().push("kind");
            self.kind
        }

        fn device(&self, _: Ref) -> Result<Option<Device>, Error> {
            self.asked.borrow_mut().push("device");
            Ok(self.device)
        }
    }

    /// After an answer that is no, nothing more is asked: it would throw.
    #[test]
    fn questions_are_asked_in_order() {
        let data = ptr::without_provenance_mut(64);
        let find = |data, has_usm, kind, device| {
            let answers = Answers { has_usm, kind, device, asked: RefCell::default() };
            let found = find(&answers, data, DEVICE);
            (found, answers.asked.take())
        };
        let kind = Some(UsmKind::Shared);
        let none = Err(Error::NoBackend { device: DEVICE });
        let (found, asked) = find(data, true, kind, Some(DEVICE));
        assert_eq!(found, Ok(Usm { device: DEVICE, kind: UsmKind::Shared }));
        assert_eq!(asked, ["aspects", "kind", "device"]);
        let (found, asked) = find(data, false, kind, Some(DEVICE));
        assert!(matches!(found, Err(Error::Unsupported { .. })), "{found:?}");
        assert_eq!(asked, ["aspects"]);
        assert_eq!(find(data, true, None, Some(DEVICE)), (none, ["aspects", "kind"].into()));
        assert_eq!(find(ptr::null_mut(), true, kind, None), (none, ["aspects"].into()));
        assert_eq!(find(data, true, kind, None), (none, ["aspects", "kind", "device"].into()));
    }
}
