//! USM of a device: allocation and frees, and queries of the device behind an address, which are the
//! protocol by which SYCL libraries exchange USM as kDLOneAPI.
//!
//! The order of the queries matters. DPCTL does not catch the exceptions that SYCL throws
//! if the device has no USM, or if the address is not USM. The aspects are therefore
//! queried first, then the kind, and the device of an address last.

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

use super::devices::{OneApiRuntime, Root, aspect, runtime};
use super::queue::Queue;
use super::sys::{self, Calls};
use crate::backend::library::Ref;
use crate::device::Device;
use crate::error::Error;

/// A kind of unified shared memory (USM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsmKind {
    /// Memory of the device: the processor must not access it.
    Device,
    /// Memory that migrates between the device and the host.
    Shared,
    /// Memory of the host, which devices can access.
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

    /// Whether the processor may access the memory at the address.
    pub const fn host_accessible(self) -> bool {
        matches!(self, Self::Shared | Self::Host)
    }
}

/// The attributes of a USM allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usm {
    pub(super) device: Device,
    pub(super) kind: UsmKind,
}

impl Usm {
    /// The root device, by its id in an exchange. For host memory, it is the device that
    /// the caller passed, or the first of the context.
    pub const fn device(self) -> Device {
        self.device
    }

    /// The kind of memory.
    pub const fn kind(self) -> UsmKind {
        self.kind
    }
}

/// The queries about addresses in a context, in the order in which they must be made: each
/// throws if the one before failed.
pub(super) trait AddressQueries {
    /// Whether the device has USM.
    fn has_usm(&self) -> bool;

    /// The kind of memory, if the address is USM of the context.
    fn kind(&self, data: Ref) -> Option<UsmKind>;

    /// The root device of such memory.
    fn device(&self, data: Ref) -> Result<Option<Device>, Error>;
}

/// Queries the attributes of an address.
pub(super) fn find(ask: &impl AddressQueries, data: Ref, unknown: Device) -> Result<Usm, Error> {
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
pub(super) struct Context<'a> {
    pub(super) runtime: &'static OneApiRuntime,
    pub(super) root: &'a Root,
    pub(super) raw: &'a sys::Context,
    pub(super) unknown: Device,
}

impl AddressQueries for Context<'_> {
    fn has_usm(&self) -> bool {
        self.root.has_usm(self.runtime.calls)
    }

    fn kind(&self, data: Ref) -> Option<UsmKind> {
        UsmKind::of(self.runtime.calls.usm_get_pointer_type(data, self.raw))
    }

    fn device(&self, data: Ref) -> Result<Option<Device>, Error> {
        let calls = self.runtime.calls;
        let found = calls.usm_get_pointer_device(self.unknown, data, self.raw)?;
        Ok(self.runtime.number_of(found.get()))
    }
}

/// The alignment that vectorised kernels need.
const ALIGN: usize = 256;

/// Allocates memory of a kind, bound to the default context.
fn allocate(queue: &Queue, kind: UsmKind, byte_len: usize) -> Result<NonNull<c_void>, Error> {
    /// A function that allocates memory of a kind.
    type Allocate = unsafe fn(&Calls, usize, usize, &sys::Queue) -> Ref;
    let (device, calls) = (queue.device(), queue.calls);
    let (aspect, what, allocate): (_, _, Allocate) = match kind {
        UsmKind::Device => (aspect::DEVICE, "USM of the kind device", Calls::aligned_alloc_device),
        UsmKind::Shared => (aspect::SHARED, "USM of the kind shared", Calls::aligned_alloc_shared),
        UsmKind::Host => (aspect::HOST, "USM of the kind host", Calls::aligned_alloc_host),
    };
    // Without the aspect, some of the functions throw.
    if !runtime()?.root(device)?.has(calls, aspect) {
        return Err(Error::Unsupported { device, what });
    }
    // SAFETY: 1. A queue of a device that has the kind; a power of two.
    let data = unsafe { allocate(calls, ALIGN, byte_len, queue.get()) };
    NonNull::new(data).ok_or(Error::OutOfMemory { bytes: byte_len })
}

/// Allocates memory, and fills it with zeros in the order of the queue.
pub(super) fn zeroed(
    queue: &Queue,
    kind: UsmKind,
    byte_len: usize,
) -> Result<NonNull<c_void>, Error> {
    let data = allocate(queue, kind, byte_len)?;
    let (calls, device) = (queue.calls, queue.device());
    let filled = queue.enqueue(|raw| {
        // SAFETY: 1. A queue, and new memory of as many bytes.
        unsafe { calls.queue_memset(device, raw, data.as_ptr(), 0, byte_len) }
    });
    if let Err(error) = filled {
        // SAFETY: 1. It was just allocated. 2. Nothing was enqueued.
        unsafe { free(queue, data) };
        return Err(error);
    }
    Ok(data)
}

/// Frees memory.
///
/// # Safety
///
/// 1. `allocate` returned it for the same device, and it was not freed.
/// 2. All work on it is done.
pub(super) unsafe fn free(queue: &Queue, data: NonNull<c_void>) {
    // The lookups do not fail: `allocate` found the runtime and the device.
    if let Ok(root) = runtime().and_then(|runtime| runtime.root(queue.device())) {
        // SAFETY: 1. By our caller's 1 and 2, with the context for which it was
        // allocated.
        unsafe { queue.calls.free_with_context(data.as_ptr(), root.context.get()) }
    }
}

/// Memory of a kind that the allocator does not return. Dropping it frees the
/// memory.
pub(super) struct Owned {
    pub(super) queue: Queue,
    pub(super) data: NonNull<c_void>,
}

// SAFETY: the address is only kept to be freed, which any thread may do.
unsafe impl Send for Owned {}
// SAFETY: `&Owned` has no operations.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: 1. `zeroed_usm` allocated it. 2. The buffer waits before it
        // drops its owner.
        unsafe { free(&self.queue, self.data) }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use core::ptr;
    use std::vec::Vec;

    use super::*;

    const DEVICE: Device = Device::new(crate::ffi::kDLOneAPI, 0);

    /// A context that records the queries.
    struct RecordedQueries {
        has_usm: bool,
        kind: Option<UsmKind>,
        device: Option<Device>,
        asked: RefCell<Vec<&'static str>>,
    }

    impl AddressQueries for RecordedQueries {
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

    /// After a failed query no other is made, because it would throw.
    #[test]
    fn questions_are_asked_in_order() {
        let data = ptr::without_provenance_mut(64);
        let find = |data, has_usm, kind, device| {
            let answers = RecordedQueries { has_usm, kind, device, asked: RefCell::default() };
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
