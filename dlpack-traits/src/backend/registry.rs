//! Backends that are registered at run time: [`Registry`].

use alloc::boxed::Box;
use core::any::TypeId;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::memory::{Attributes, MemoryRef};
use super::{Backends, Prototype, SyncFn};
use crate::device::Device;
use crate::dtype::DataType;
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
    /// # Safety
    ///
    /// 1. As for [`Backends::copy_to_host`].
    unsafe fn copy_to_host(
        &self,
        order: SyncFn<'_>,
        from: MemoryRef,
        to: &mut [u8],
    ) -> Result<(), Error>;
    /// # Safety
    ///
    /// 1. As for [`Backends::copy_on_device`].
    unsafe fn copy_on_device(
        &self,
        order: SyncFn<'_>,
        from: MemoryRef,
        byte_len: usize,
        dtype: DataType,
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

    unsafe fn copy_to_host(
        &self,
        order: SyncFn<'_>,
        from: MemoryRef,
        to: &mut [u8],
    ) -> Result<(), Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { Set::copy_to_host(order, from, to) }
    }

    unsafe fn copy_on_device(
        &self,
        order: SyncFn<'_>,
        from: MemoryRef,
        byte_len: usize,
        dtype: DataType,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { Set::copy_on_device(order, from, byte_len, dtype, consumer) }
    }

    fn attributes(&self, data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        Set::attributes(data, hint)
    }
}

/// An entry of the append-only list. It is never freed.
struct Entry {
    device_type: DLDeviceType,
    backends: &'static dyn DynBackends,
    before: Option<&'static Entry>,
}

/// The latest entry; each entry points to the one before.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

/// Returns the latest entry.
fn latest() -> Option<&'static Entry> {
    // SAFETY: an entry in the list is complete, and is neither changed nor freed.
    unsafe { ENTRIES.load(Ordering::Acquire).as_ref() }
}

/// Finds the backends for a kind of device, in an entry and those before it.
fn find(
    latest: Option<&'static Entry>,
    device_type: DLDeviceType,
) -> Option<&'static dyn DynBackends> {
    let mut entries = core::iter::successors(latest, |entry| entry.before);
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
        let mut new = Box::new(Entry { device_type, backends, before: None });
        loop {
            let before = latest();
            // Another thread may have registered the same kind meanwhile.
            match find(before, device_type) {
                Some(known) if known.type_id() == TypeId::of::<Set>() => return Ok(()),
                Some(_) => return Err(Error::AlreadyServed { device_type }),
                None => {}
            }
            new.before = before;
            let entry = Box::into_raw(new);
            let expected =
                before.map_or(ptr::null_mut(), |before| ptr::from_ref(before).cast_mut());
            // Release: a thread that loads the entry sees its fields.
            let outcome =
                ENTRIES.compare_exchange(expected, entry, Ordering::Release, Ordering::Relaxed);
            if outcome.is_ok() {
                return Ok(());
            }
            // SAFETY: `entry` was made from a box above, and was not added to the list.
            new = unsafe { Box::from_raw(entry) };
        }
    }

    /// Returns the backends that serve the device.
    fn of(device: Device) -> Result<&'static dyn DynBackends, Error> {
        let found = find(latest(), device.device_type());
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

    unsafe fn copy_to_host(order: SyncFn<'_>, from: MemoryRef, to: &mut [u8]) -> Result<(), Error> {
        // SAFETY: 1. By our caller's 1.
        unsafe { Self::of(from.device)?.copy_to_host(order, from, to) }
    }

    unsafe fn copy_on_device(
        order: SyncFn<'_>,
        from: MemoryRef,
        byte_len: usize,
        dtype: DataType,
        consumer: StreamArg<'_>,
    ) -> Result<SharedOwner, Error> {
        let backends = Self::of(from.device)?;
        // SAFETY: 1. By our caller's 1.
        unsafe { backends.copy_on_device(order, from, byte_len, dtype, consumer) }
    }

    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        Self::of(hint)?.attributes(data, hint)
    }
}
