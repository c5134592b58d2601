//! Devices: [`Device`].

use core::fmt;

use crate::ffi::{self, DLDevice, DLDeviceType};

/// A device: a device type, and an index among the devices of that type.
///
/// ```
/// use dlpack_traits::Device;
///
/// assert_eq!(Device::CPU.to_string(), "cpu");
/// assert_eq!(Device::cuda(1).to_string(), "cuda:1");
/// assert!(Device::CPU.is_host());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Device(DLDevice);

impl Device {
    /// Host memory. Its index is always 0, because some consumers reject any other.
    pub const CPU: Device = Device::new(ffi::kDLCPU, 0);
    /// Host memory pinned by CUDA.
    pub const CUDA_HOST: Device = Device::new(ffi::kDLCUDAHost, 0);
    /// CUDA managed memory.
    pub const CUDA_MANAGED: Device = Device::new(ffi::kDLCUDAManaged, 0);
    /// Host memory pinned by ROCm.
    pub const ROCM_HOST: Device = Device::new(ffi::kDLROCMHost, 0);

    /// Creates a device from its type and index.
    pub const fn new(device_type: DLDeviceType, device_id: i32) -> Self {
        Self(DLDevice { device_type, device_id })
    }

    /// The CUDA device with that index.
    pub const fn cuda(device_id: i32) -> Self {
        Self::new(ffi::kDLCUDA, device_id)
    }

    /// The ROCm device with that index.
    pub const fn rocm(device_id: i32) -> Self {
        Self::new(ffi::kDLROCM, device_id)
    }

    /// The device type.
    pub const fn device_type(self) -> DLDeviceType {
        self.0.device_type
    }

    /// The index among devices of that type.
    pub const fn device_id(self) -> i32 {
        self.0.device_id
    }

    /// Whether the processor may read this memory through its address without a call of a
    /// device runtime: ordinary and pinned host memory. `kDLTPUHost` is not included: no release
    /// of the standard states that its `data` is an address.
    #[inline]
    pub const fn is_host(self) -> bool {
        matches!(self.0.device_type, ffi::kDLCPU | ffi::kDLCUDAHost | ffi::kDLROCMHost)
    }

    /// Whether the processor can read memory of this device that another device writes:
    /// pinned memory, and managed memory. This and the next function are for memory without a
    /// backend, which states both itself.
    pub(crate) const fn is_read_by_host(self) -> bool {
        matches!(self.0.device_type, ffi::kDLCUDAHost | ffi::kDLROCMHost | ffi::kDLCUDAManaged)
    }

    /// Whether a stream of one device can work on memory of the other: they are the same, or
    /// one is memory of the host or managed memory of the same vendor.
    pub(crate) fn shares_streams_with(self, memory: Self) -> bool {
        let vendor = |device: Self| match device.device_type() {
            ffi::kDLCUDAHost | ffi::kDLCUDAManaged => ffi::kDLCUDA,
            ffi::kDLROCMHost => ffi::kDLROCM,
            other => other,
        };
        vendor(self) == vendor(memory)
            && (self.device_id() == memory.device_id() || memory.is_read_by_host())
    }

    /// Whether `data` is an address by the standard, to which an offset may be added. On other
    /// devices it may be an opaque handle: the offset stays in `byte_offset`, and an import is
    /// passed on with both numbers. A [`Backend`](crate::backend::Backend) states which it is by its
    /// [`MemoryType`](crate::backend::MemoryType).
    #[inline]
    pub const fn has_addresses(self) -> bool {
        matches!(
            self.0.device_type,
            ffi::kDLCPU
                | ffi::kDLCUDA
                | ffi::kDLCUDAHost
                | ffi::kDLROCM
                | ffi::kDLROCMHost
                | ffi::kDLCUDAManaged
                | ffi::kDLOneAPI
        )
    }

    /// Whether `data` is the handle of an object by the standard.
    pub(crate) const fn has_handles(self) -> bool {
        matches!(
            self.0.device_type,
            ffi::kDLOpenCL | ffi::kDLVulkan | ffi::kDLMetal | ffi::kDLWebGPU
        )
    }

    /// Whether the device type is valid in some version of DLPack: the codes start at 1. A
    /// positive code that this version of the standard does not define may belong to a
    /// later version.
    #[inline]
    pub(crate) const fn is_well_formed(self) -> bool {
        self.0.device_type.0 > 0
    }

    /// Parses the name of a device type that DLPack defines, and an optional index after a
    /// colon, 0 by default; `None` for any other name.
    ///
    /// ```
    /// use dlpack_traits::Device;
    ///
    /// assert_eq!(Device::from_name("cpu"), Some(Device::CPU));
    /// assert_eq!(Device::from_name("cuda:1"), Some(Device::cuda(1)));
    /// assert_eq!(Device::from_name("gpu"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let (kind, index) = match name.split_once(':') {
            Some((kind, index)) => (kind, index.parse::<u16>().ok()?.into()),
            None => (name, 0),
        };
        let mut known =
            (ffi::kDLCPU.0..=ffi::kDLAscend.0).map(|code| Self::new(DLDeviceType(code), index));
        known.find(|device| device.kind_name() == Some(kind))
    }

    /// Converts the device to the C struct.
    pub const fn to_ffi(self) -> DLDevice {
        self.0
    }

    /// The name of the device type, if this version of the standard defines one.
    pub(crate) const fn kind_name(self) -> Option<&'static str> {
        Some(match self.0.device_type {
            ffi::kDLCPU => "cpu",
            ffi::kDLCUDA => "cuda",
            ffi::kDLCUDAHost => "cuda_host",
            ffi::kDLOpenCL => "opencl",
            ffi::kDLVulkan => "vulkan",
            ffi::kDLMetal => "metal",
            ffi::kDLVPI => "vpi",
            ffi::kDLROCM => "rocm",
            ffi::kDLROCMHost => "rocm_host",
            ffi::kDLExtDev => "ext_dev",
            ffi::kDLCUDAManaged => "cuda_managed",
            ffi::kDLOneAPI => "oneapi",
            ffi::kDLWebGPU => "webgpu",
            ffi::kDLHexagon => "hexagon",
            ffi::kDLMAIA => "maia",
            ffi::kDLTrn => "trn",
            ffi::kDLTPU => "tpu",
            ffi::kDLTPUHost => "tpu_host",
            ffi::kDLAscend => "ascend",
            _ => return None,
        })
    }
}

impl From<DLDevice> for Device {
    fn from(raw: DLDevice) -> Self {
        Self(raw)
    }
}

impl From<Device> for DLDevice {
    fn from(device: Device) -> Self {
        device.0
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind_name() {
            Some(name) if self.0.device_id == 0 && self.is_host() => f.write_str(name),
            Some(name) => write!(f, "{name}:{}", self.0.device_id),
            None => write!(f, "device type {}:{}", self.0.device_type.0, self.0.device_id),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn names() {
        assert_eq!(Device::new(DLDeviceType(99), 3).to_string(), "device type 99:3");
        assert_eq!(Device::new(ffi::kDLCPU, 1).to_string(), "cpu:1");
        assert_eq!(Device::rocm(0).to_string(), "rocm:0");
        assert_eq!(Device::CUDA_HOST.to_string(), "cuda_host");
    }

    #[test]
    fn a_stream_works_on_memory_of_its_device_and_of_its_vendor_on_the_host() {
        let managed = Device::new(ffi::kDLCUDAManaged, 1);
        for (stream, memory, is_shared) in [
            (Device::cuda(0), Device::cuda(0), true),
            (Device::cuda(0), Device::cuda(1), false),
            (Device::cuda(0), managed, true),
            (managed, Device::cuda(0), false),
            (Device::cuda(1), Device::CUDA_HOST, true),
            (Device::rocm(1), Device::ROCM_HOST, true),
            (Device::rocm(0), Device::CUDA_HOST, false),
            (Device::rocm(0), Device::cuda(0), false),
            (Device::cuda(0), Device::CPU, false),
        ] {
            assert_eq!(stream.shares_streams_with(memory), is_shared, "{stream:?} {memory:?}");
        }
    }

    #[test]
    fn memory_of_graphics_libraries_has_handles() {
        for (device, has_handles) in [
            (ffi::kDLOpenCL, true),
            (ffi::kDLVulkan, true),
            (ffi::kDLMetal, true),
            (ffi::kDLWebGPU, true),
            (ffi::kDLCPU, false),
            (ffi::kDLCUDA, false),
        ] {
            assert_eq!(Device::new(device, 0).has_handles(), has_handles, "{device:?}");
        }
    }

    /// Every device type of the standard and of the header's main branch has a unique name, and is
    /// found by it.
    #[test]
    fn names_are_found() {
        let names = [
            (1, "cpu"),
            (2, "cuda"),
            (3, "cuda_host"),
            (4, "opencl"),
            (7, "vulkan"),
            (8, "metal"),
            (9, "vpi"),
            (10, "rocm"),
            (11, "rocm_host"),
            (12, "ext_dev"),
            (13, "cuda_managed"),
            (14, "oneapi"),
            (15, "webgpu"),
            (16, "hexagon"),
            (17, "maia"),
            (18, "trn"),
            (19, "tpu"),
            (20, "tpu_host"),
            (21, "ascend"),
        ];
        for (code, name) in names {
            let device = Device::new(DLDeviceType(code), 0);
            assert_eq!(device.kind_name(), Some(name));
            assert_eq!(Device::from_name(name), Some(device));
            let third = Device::new(DLDeviceType(code), 3);
            assert_eq!(Device::from_name(&alloc::format!("{name}:3")), Some(third));
        }
        for unknown in [0, 5, 22] {
            assert_eq!(Device::new(DLDeviceType(unknown), 0).kind_name(), None);
        }
        for wrong in ["gpu", "", "cpu:", "cpu:-1", "cpu:70000", "cuda:x"] {
            assert_eq!(Device::from_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn handles_are_not_addresses() {
        for code in [4, 7, 8, 9, 12, 15, 16, 17, 18, 19, 20, 21, 99] {
            assert!(!Device::new(DLDeviceType(code), 0).has_addresses(), "{code}");
        }
        assert!(!Device::cuda(0).is_host());
        assert!(!Device::new(ffi::kDLTPUHost, 0).is_host(), "provisional");
        assert!(!Device::CUDA_MANAGED.is_host(), "needs a synchronization first");
    }
}
