//! Decides how `__dlpack__` exports a tensor, from its keywords. It is a pure function of
//! plain data, so it is tested without an interpreter.
//!
//! A read-only tensor that is requested in the legacy capsule is copied and not rejected,
//! because JAX 0.10, TensorFlow and consumers without versions can then use it. The cost:
//! nanobind requests the legacy capsule first for its read-only arrays, and would get the
//! memory zero-copy after an error.

use core::fmt;

use crate::device::Device;
use crate::version::Version;

/// The keywords that decide how a tensor is exported. `stream` is not among them: the
/// stream rules of the tensor's device interpret it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(crate) max_version: Option<Version>,
    pub(crate) dl_device: Option<Device>,
    pub(crate) copy: Option<bool>,
}

/// The decision how to export a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) capsule: Capsule,
    pub(crate) copy: CopyMode,
    /// The device that the consumer requests, which may be the tensor's own.
    pub(crate) to: Option<Device>,
}

/// The struct that the consumer understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capsule {
    /// `DLManagedTensorVersioned`.
    Versioned,
    /// `DLManagedTensor`.
    Legacy,
}

impl Capsule {
    /// Returns the struct for a `max_version`. A producer may return any version up to
    /// the requested major version, so a consumer of version 1 or later gets the
    /// versioned struct.
    #[inline]
    pub(crate) fn up_to(max_version: Option<Version>) -> Self {
        match max_version {
            Some(version) if version.major >= 1 => Self::Versioned,
            _ => Self::Legacy,
        }
    }
}

/// Whether the elements are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// Never; a tensor that needs a copy is an error.
    Never,
    /// Only if the tensor cannot be shared.
    IfNeeded,
    /// Always.
    Always,
}

/// The reason why a request is rejected, independent of the tensor's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The tensor cannot be moved to that device.
    Device { requested: Device, own: Device },
    /// Moving the tensor needs a copy, and `copy=False` forbids it.
    DeviceCopy { requested: Device, own: Device },
    /// A copy would be in host memory, which the consumer did not request.
    CopyOntoCpu { own: Device },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Device { requested, own } => {
                let why = match requested {
                    Device::CPU => {
                        ": its class lists no backend that copies it, as `backends::<(Cpu, B)>()` does"
                    }
                    _ => "",
                };
                write!(
                    f,
                    "the tensor is on {own} and cannot be exported to {requested}{why}; leave \
                     `dl_device` out, or pass ({}, {})",
                    own.device_type().0,
                    own.device_id()
                )
            }
            Refusal::DeviceCopy { requested, own } => write!(
                f,
                "the tensor is on {own}, and exporting it to {requested} takes a copy; leave \
                 `copy=False` out"
            ),
            Refusal::CopyOntoCpu { own } => write!(
                f,
                "the tensor is on {own}, and can only be copied to host memory; pass \
                 `dl_device=(1, 0)` for that"
            ),
        }
    }
}

impl Request {
    /// Decides how to export a tensor on the device `own`, which is called only if the
    /// consumer names a device. `reaches` returns whether backends serve a device and the
    /// requested one, so that a copy can be tried.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], or the error of `own`.
    pub(crate) fn decide<E: From<Refusal>>(
        self,
        own: impl FnOnce() -> Result<Device, E>,
        reaches: impl FnOnce(Device, Device) -> bool,
    ) -> Result<Plan, E> {
        let capsule = Capsule::up_to(self.max_version);
        let mut copy = match self.copy {
            Some(true) => CopyMode::Always,
            Some(false) => CopyMode::Never,
            None => CopyMode::IfNeeded,
        };
        if let Some(requested) = self.dl_device {
            let own = own()?;
            if requested != own {
                let to_cpu = requested == Device::CPU && own.is_host();
                if !to_cpu && !reaches(own, requested) {
                    return Err(Refusal::Device { requested, own }.into());
                }
                if copy == CopyMode::Never {
                    return Err(Refusal::DeviceCopy { requested, own }.into());
                }
                copy = CopyMode::Always;
            }
        }
        Ok(Plan { capsule, copy, to: self.dl_device })
    }
}

impl Plan {
    /// Returns the plan for a consumer that passes no keyword except a version.
    pub(crate) const fn of_common_call(capsule: Capsule) -> Self {
        Self { capsule, copy: CopyMode::IfNeeded, to: None }
    }

    /// Checks that the processor may copy a tensor on the device `own`, which puts the
    /// copy into host memory. If the processor cannot read the tensor, the copy itself
    /// fails.
    ///
    /// # Errors
    ///
    /// [`Refusal::CopyOntoCpu`] if the consumer did not request host memory.
    pub(crate) fn may_copy(self, own: Device) -> Result<(), Refusal> {
        if own == Device::CPU || !own.is_host() || self.to == Some(Device::CPU) {
            Ok(())
        } else {
            Err(Refusal::CopyOntoCpu { own })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(request: Request, own: Device) -> Result<Plan, Refusal> {
        request.decide(|| Ok(own), |_, _| false)
    }

    #[test]
    fn the_version_chooses_the_capsule() {
        let capsule = |max_version| {
            decide(Request { max_version, ..Request::default() }, Device::CPU).unwrap().capsule
        };
        assert_eq!(capsule(None), Capsule::Legacy);
        assert_eq!(capsule(Some(Version::new(0, 8))), Capsule::Legacy);
        assert_eq!(capsule(Some(Version::new(1, 0))), Capsule::Versioned);
        assert_eq!(capsule(Some(Version::new(1, 99))), Capsule::Versioned);
        assert_eq!(capsule(Some(Version::new(2, 0))), Capsule::Versioned);
    }

    #[test]
    fn copy_is_obeyed() {
        let copy = |copy| decide(Request { copy, ..Request::default() }, Device::CPU).unwrap().copy;
        assert_eq!(copy(None), CopyMode::IfNeeded);
        assert_eq!(copy(Some(true)), CopyMode::Always);
        assert_eq!(copy(Some(false)), CopyMode::Never);
    }

    #[test]
    fn the_own_device_is_no_journey() {
        for own in [Device::CPU, Device::cuda(1), Device::CUDA_HOST] {
            let request = Request { dl_device: Some(own), copy: Some(false), ..Request::default() };
            assert_eq!(decide(request, own).unwrap().copy, CopyMode::Never);
        }
    }

    #[test]
    fn host_memory_of_another_kind_is_copied_to_the_cpu() {
        let request = Request { dl_device: Some(Device::CPU), ..Request::default() };
        assert_eq!(decide(request, Device::CUDA_HOST).unwrap().copy, CopyMode::Always);
        let request = Request { copy: Some(false), ..request };
        assert_eq!(
            decide(request, Device::CUDA_HOST),
            Err(Refusal::DeviceCopy { requested: Device::CPU, own: Device::CUDA_HOST })
        );
    }

    #[test]
    fn a_copy_goes_where_it_was_asked_to() {
        let plan = |dl_device, own| {
            decide(Request { dl_device, copy: Some(true), ..Request::default() }, own).unwrap()
        };
        let pinned = Device::CUDA_HOST;
        assert_eq!(plan(None, Device::CPU).may_copy(Device::CPU), Ok(()));
        assert_eq!(plan(Some(Device::CPU), pinned).may_copy(pinned), Ok(()));
        for asked in [None, Some(pinned)] {
            let refusal = Refusal::CopyOntoCpu { own: pinned };
            assert_eq!(plan(asked, pinned).may_copy(pinned), Err(refusal));
        }
    }

    #[test]
    fn other_devices_are_refused() {
        let to = |dl_device, own| decide(Request { dl_device, ..Request::default() }, own);
        let cuda = Device::cuda(0);
        assert!(matches!(to(Some(cuda), Device::CPU), Err(Refusal::Device { .. })));
        assert!(matches!(to(Some(Device::CPU), cuda), Err(Refusal::Device { .. })));
        let other_index = Device::new(crate::ffi::kDLCPU, 1);
        assert!(matches!(to(Some(other_index), Device::CPU), Err(Refusal::Device { .. })));
    }

    #[test]
    fn a_device_that_reaches_another() {
        for to in [Device::CPU, Device::cuda(1), Device::CUDA_HOST] {
            copies_to(to);
        }
    }

    fn copies_to(requested: Device) {
        let request = Request { dl_device: Some(requested), ..Request::default() };
        let cuda = Device::cuda(0);
        let reaches = |from, to| (from, to) == (cuda, requested);
        let to = |request: Request| request.decide(|| Ok(cuda), reaches);
        let plan = to(request).unwrap();
        assert_eq!((plan.copy, plan.may_copy(cuda)), (CopyMode::Always, Ok(())));
        assert_eq!(plan.to, Some(requested));
        let refusal = Refusal::DeviceCopy { requested, own: cuda };
        assert_eq!(to(Request { copy: Some(false), ..request }), Err(refusal));
    }

    #[test]
    fn the_device_is_not_asked_for_in_vain() {
        let plan = Request::default()
            .decide(|| -> Result<Device, Refusal> { unreachable!() }, |_, _| unreachable!());
        assert!(plan.is_ok());
    }
}
