//! Backends that are registered at run time: [`Registry`].

use core::any::TypeId;
use core::ffi::c_void;
use core::marker::PhantomData;

use super::append_list::AppendList;
use super::memory::Attributes;
use super::{Backends, CopySource, Prototype};
use crate::device::Device;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::managed::ManagedTensor;
use crate::storage::SharedOwner;
use crate::stream::StreamArg;

/// The set of all backends that plug-ins have registered.
///
/// A program that loads plug-ins at run time cannot name their backends as types. It names
/// `Registry`, usually last in a tuple: `(Cpu, Registry)`. A plug-in calls
/// [`register`](Self::register) once for each kind of device that it serves; from then on
/// the registry serves the device. An entry is never removed: a plug-in stays loaded.
///
/// A lookup takes no lock, so backends may call any function, including those of this
/// registry.
///
/// ```
/// use dlpack_traits::backend::{Backends, Cpu, Registry};
/// use dlpack_traits::{Device, ffi};
///
/// Registry::register::<Cpu>(ffi::kDLCPU)?;
/// assert!(Registry::serves(Device::CPU));
/// // The same again is fine; another backend for the device is not.
/// Registry::register::<Cpu>(ffi::kDLCPU)?;
/// assert!(Registry::register::<(Cpu,)>(ffi::kDLCPU).is_err());
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Registry;

/// `Backends` as an object-safe trait.
trait DynBackends: Sync {
    fn type_id(&self) -> TypeId;
    fn serves(&self, device: Device) -> bool;
    fn allocate(&self, prototype: &Prototype<'_>) -> Result<ManagedTensor, Error>;
    fn current_work_stream(&self, device: Device) -> Result<*mut c_void, Error>;
    fn copy_to_host(&self, from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error>;
    fn copy_on_device(
        &self,
        from: CopySource<'_>,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error>;
    fn attributes(&self, data: *const c_void, hint: Device) -> Result<Attributes, Error>;
}

/// A set of backends as a value.
struct Erased<Set>(PhantomData<fn() -> Set>);

impl<Set: Backends> DynBackends for Erased<Set> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<Set>()
    }

    fn serves(&self, device: Device) -> bool {
        Set::serves(device)
    }

    fn allocate(&self, prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        Set::allocate(prototype)
    }

    fn current_work_stream(&self, device: Device) -> Result<*mut c_void, Error> {
        Set::current_work_stream(device)
    }

    fn copy_to_host(&self, from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error> {
        Set::copy_to_host(from, to)
    }

    fn copy_on_device(
        &self,
        from: CopySource<'_>,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error> {
        Set::copy_on_device(from, consumer)
    }

    fn attributes(&self, data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        Set::attributes(data, hint)
    }
}

/// The backends of a kind of device.
struct Entry {
    device_type: DLDeviceType,
    backends: &'static dyn DynBackends,
}

static ENTRIES: AppendList<Entry> = AppendList::new();

/// Finds the backends for a kind of device.
#[expect(single_use_lifetimes, reason = "it cannot be elided in `impl Iterator`")]
fn find<'a>(
    mut entries: impl Iterator<Item = &'a Entry>,
    device_type: DLDeviceType,
) -> Option<&'static dyn DynBackends> {
    entries.find(|entry| entry.device_type == device_type).map(|entry| entry.backends)
}

impl Registry {
    /// Registers a set of backends for a kind of device.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyServed`] if another set is registered for it; an [`Error::Custom`]
    /// for a set that contains the registry, whose lookups would recurse without end.
    pub fn register<Set: Backends>(device_type: DLDeviceType) -> Result<(), Error> {
        if Set::ASKS_REGISTRY {
            return Err(Error::Custom("the registry, and a set with it, cannot be registered"));
        }
        let backends: &'static dyn DynBackends = const { &Erased::<Set>(PhantomData) };
        let known = ENTRIES.append_unless(Entry { device_type, backends }, |entries| {
            find(entries, device_type).map(DynBackends::type_id)
        });
        match known {
            Some(known) if known != TypeId::of::<Set>() => {
                Err(Error::AlreadyServed { device_type })
            }
            _ => Ok(()),
        }
    }

    /// Returns the backends that serve the device.
    fn of(device: Device) -> Result<&'static dyn DynBackends, Error> {
        let found = find(ENTRIES.iter(), device.device_type());
        found.ok_or(Error::NoBackend { device })
    }
}

// SAFETY: 1. to 4. Each result is that of a set that was registered.
unsafe impl Backends for Registry {
    const ASKS_REGISTRY: bool = true;

    fn serves(device: Device) -> bool {
        Self::of(device).is_ok_and(|backends| backends.serves(device))
    }

    fn allocate(prototype: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        Self::of(prototype.device())?.allocate(prototype)
    }

    fn current_work_stream(device: Device) -> Result<*mut c_void, Error> {
        Self::of(device)?.current_work_stream(device)
    }

    fn copy_to_host(from: CopySource<'_>, to: &mut [u8]) -> Result<(), Error> {
        Self::of(from.device())?.copy_to_host(from, to)
    }

    fn copy_on_device(from: CopySource<'_>, consumer: StreamArg<'_>) -> Result<SharedOwner, Error> {
        Self::of(from.device())?.copy_on_device(from, consumer)
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        Self::of(hint)?.attributes(data, hint)
    }
}
