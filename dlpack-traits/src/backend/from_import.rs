//! Imported memory in a [`DeviceBuffer`], with the stream on which it is ready: the `data` field of a
//! struct that derives `DLPackImport`, and an argument of a kernel that is kept.

use super::backend_trait::memory_type;
use super::{Backend, DeviceBuffer, HandleLifetime, SyncAction, WorkStream};
use crate::device::Device;
use crate::error::Error;
use crate::import::{ImportStorage, ImportedStorage, ImportedTensor, MismatchKind};
use crate::stream_arg::{ConsumerPlace, StreamKind};

/// The memory of a tensor that was imported without a stream, of a device that the backend serves.
/// It is ready as the rules of the device state for a consumer that names no stream: on the default
/// stream, or at once. The buffer orders its consumers after that.
///
/// [`from_imported`](ImportStorage::from_imported) returns [`Error::NotOrdered`] for a tensor that
/// was imported for a stream, which a [`DeviceTensor`](super::DeviceTensor) knows
/// ([`into_buffer`](super::DeviceTensor::into_buffer)), and the errors of
/// [`from_foreign`](DeviceBuffer::from_foreign).
///
/// ```
/// use dlpack_traits::backend::{Cpu, DeviceBuffer};
/// # #[cfg(feature = "derive")] {
/// use dlpack_traits::{DLPackExport, DLPackImport, SharedTensor};
///
/// #[derive(DLPackExport, DLPackImport)]
/// struct OnDevice { data: DeviceBuffer<Cpu>, shape: [usize; 1] }
///
/// let samples = SharedTensor::new(vec![1.0_f32, 2.0], [2])?;
/// let kept = OnDevice::from_dlpack(samples.to_dlpack()?.import()?)?;
/// assert_eq!(kept.data.to_vec::<f32>()?, [1.0, 2.0]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<B: Backend> ImportStorage for DeviceBuffer<B> {
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
        let found = tensor.device();
        if memory_type::<B>(found).is_none() {
            return Err(not_served::<B>(found));
        }
        if tensor.is_read_only() { Err(MismatchKind::Writable) } else { Ok(()) }
    }

    fn keeps_strides(_: &ImportedTensor) -> bool {
        true
    }

    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
        let stream = ready_on::<B>(&tensor)?;
        // SAFETY: 1. By `ready_on`.
        unsafe { Self::from_foreign(ImportedStorage::from(tensor), stream) }
    }
}

/// The error for memory of a device that the backend does not serve.
pub(crate) fn not_served<B: Backend>(found: Device) -> MismatchKind {
    let served = B::MEMORY_TYPES.iter().map(|kind| Device::new(kind.device_type(), 0));
    let name = |device: Device| device.kind_name().unwrap_or("another device");
    MismatchKind::Device { needed: served.map(name).collect(), found }
}

/// A stream after whose work the elements are ready.
fn ready_on<B: Backend>(tensor: &ImportedTensor) -> Result<WorkStream<B>, Error> {
    let device = tensor.device();
    match tensor.synchronized() {
        ConsumerPlace::DefaultStream => without_stream(device),
        // All work is done.
        ConsumerPlace::Host => WorkStream::current(device),
        ConsumerPlace::Stream => Err(Error::NotOrdered { device }),
    }
}

/// A stream on which a consumer that names none may work: the default stream, or any if the
/// producer has waited.
pub(super) fn without_stream<B: Backend>(device: Device) -> Result<WorkStream<B>, Error> {
    let current = WorkStream::<B>::current(device)?;
    match B::RULES.decide(device, current.handle(), StreamKind::Unspecified)? {
        SyncAction::Order { theirs, lives: HandleLifetime::Always } => {
            // SAFETY: 1. By 2 of `Backend`, the number of a default stream is a handle as long as the
            // process lives.
            unsafe { WorkStream::borrow(device, theirs) }
        }
        SyncAction::Order { .. } => Err(Error::NotOrdered { device }),
        SyncAction::Same | SyncAction::NoSync | SyncAction::Wait => Ok(current),
    }
}
