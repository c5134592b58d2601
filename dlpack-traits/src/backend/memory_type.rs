//! What is true of a kind of memory, as its backend states it: [`MemoryType`].

use crate::device::Device;
use crate::ffi::DLDeviceType;

/// A kind of memory that a backend serves, with what is true of it.
///
/// All kinds of memory of a backend share its streams: a stream of a device works on memory with
/// the number of that device, and on memory that the processor reads. Memory on which only other
/// streams can work belongs to another backend.
///
/// ```
/// use dlpack_traits::backend::MemoryType;
/// use dlpack_traits::ffi::{kDLExtDev, kDLTPU, kDLTPUHost};
///
/// const OPAQUE: &[MemoryType] = &[MemoryType::with_handles(kDLExtDev)];
/// const WITH_PINNED: &[MemoryType] = &[
///     MemoryType::with_addresses(kDLTPU),
///     MemoryType::with_addresses(kDLTPUHost).read_by_host(),
/// ];
/// # assert!(!OPAQUE[0].has_addresses() && WITH_PINNED[1].is_read_by_host());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryType {
    device_type: DLDeviceType,
    has_addresses: bool,
    read_by_host: bool,
}

impl MemoryType {
    /// Memory whose `data` is an address. A part of it is exported at its own address, with a
    /// `byte_offset` of 0, and must be aligned for its elements.
    pub const fn with_addresses(device_type: DLDeviceType) -> Self {
        Self { device_type, has_addresses: true, read_by_host: false }
    }

    /// Memory whose `data` is the handle of an object. Nothing is added to it: a part of the
    /// object is exported with its `byte_offset`.
    ///
    /// # Panics
    ///
    /// If the standard defines `data` as an address ([`Device::has_addresses`]); in a constant,
    /// when it is compiled.
    pub const fn with_handles(device_type: DLDeviceType) -> Self {
        assert!(
            !Device::new(device_type, 0).has_addresses(),
            "`data` is an address on this type of device"
        );
        Self { device_type, has_addresses: false, read_by_host: false }
    }

    /// Memory that the processor reads at its address while the device may write it: pinned,
    /// managed or unified memory. The host waits for a consumer that names no stream, which may be a
    /// library of the host, and memory is freed after a wait.
    #[must_use]
    pub const fn read_by_host(self) -> Self {
        Self { read_by_host: true, ..self }
    }

    /// The device type.
    pub const fn device_type(self) -> DLDeviceType {
        self.device_type
    }

    /// Whether `data` is an address.
    pub const fn has_addresses(self) -> bool {
        self.has_addresses
    }

    /// Whether the processor reads the memory at its address.
    pub const fn is_read_by_host(self) -> bool {
        self.read_by_host
    }
}
