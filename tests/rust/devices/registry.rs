//! Backends of plug-ins.

use std::thread;

use new_device::Npu;
use tensors::backend::{Backends, Cpu, Prototype, Registry, copy_to_host};
use tensors::ffi::{DLDeviceType, kDLExtDev};
use tensors::{DataType, Device, Dims, Error, ManagedTensor};

use super::npu::{NPU, Session, filled, stream, vector};

type Program = (Cpu, Registry);

/// A set that queries the registry while it is queried itself.
struct Curious;

// SAFETY: 1. to 4. It has nothing but errors.
unsafe impl Backends for Curious {
    fn serves(device: Device) -> bool {
        Registry::register::<Cpu>(DLDeviceType(101)).unwrap();
        !Registry::serves(Device::new(DLDeviceType(102), 0)) && device.device_id() == 0
    }

    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        Registry::register::<Curious>(DLDeviceType(103))?;
        Err(Error::NoBackend { device: prototype.device() })
    }

    fn current_work_stream(device: Device) -> Result<*mut core::ffi::c_void, Error> {
        Err(Error::NoBackend { device })
    }
}

#[test]
fn a_backend_registered_late_is_used() {
    let _session = Session;
    let tensor = vector(filled(stream(), 5.0), 4);
    if !Registry::serves(NPU) {
        let error = copy_to_host::<Program, _>(&tensor).unwrap_err();
        assert_eq!(error, Error::NoBackend { device: NPU });
    }
    Registry::register::<Npu>(kDLExtDev).unwrap();
    assert!(Program::serves(NPU));
    let copy = copy_to_host::<Program, _>(&tensor).unwrap();
    assert_eq!(copy.device(), Device::CPU);
    let prototype = Prototype::new(DataType::F32, Dims::borrowed(&[4]), NPU).unwrap();
    assert_eq!(Program::allocate(&prototype).unwrap().device(), NPU);
    // The same backend may be registered again, another one may not.
    Registry::register::<Npu>(kDLExtDev).unwrap();
    let error = Registry::register::<Cpu>(kDLExtDev).unwrap_err();
    assert_eq!(error, Error::AlreadyServed { device_type: kDLExtDev });
    assert_eq!(error.to_string(), "another backend is registered for devices such as ext_dev:0");
}

/// No lock is held while backends run.
#[test]
fn a_backend_may_use_the_registry() {
    Registry::register::<Curious>(DLDeviceType(100)).unwrap();
    assert!(Registry::serves(Device::new(DLDeviceType(100), 0)));
    let device = Device::new(DLDeviceType(100), 0);
    let prototype = Prototype::new(DataType::F32, Dims::borrowed(&[4]), device).unwrap();
    assert_eq!(Registry::allocate(&prototype).unwrap_err(), Error::NoBackend { device });
    assert!(Registry::serves(Device::new(DLDeviceType(103), 0)));
}

/// It would query itself without end.
#[test]
fn the_registry_is_not_registered() {
    const KIND: DLDeviceType = DLDeviceType(104);
    for refused in [Registry::register::<Registry>(KIND), Registry::register::<Program>(KIND)] {
        assert!(matches!(refused, Err(Error::Custom(_))), "{refused:?}");
    }
    assert!(!Registry::serves(Device::new(KIND, 0)));
}

/// One of several concurrent registrations succeeds, and all threads see which.
#[test]
fn one_of_many_concurrent_registrations_succeeds() {
    const KIND: DLDeviceType = DLDeviceType(110);
    const ROUNDS: i32 = if cfg!(miri) { 3 } else { 200 };
    for round in 0..ROUNDS {
        let kind = DLDeviceType(KIND.0 + round);
        let won: Vec<bool> = thread::scope(|scope| {
            let first = scope.spawn(move || Registry::register::<Cpu>(kind).is_ok());
            let second = scope.spawn(move || Registry::register::<(Cpu,)>(kind).is_ok());
            let third = scope.spawn(move || Registry::register::<((Cpu,),)>(kind).is_ok());
            [first, second, third].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        // The same as the first time.
        let again = [
            Registry::register::<Cpu>(kind).is_ok(),
            Registry::register::<(Cpu,)>(kind).is_ok(),
            Registry::register::<((Cpu,),)>(kind).is_ok(),
        ];
        assert_eq!(won, again);
    }
}
