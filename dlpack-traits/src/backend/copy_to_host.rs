//! Copies of tensors on any device: [`copy_to_host`], [`copy_on_device`], [`copy_to_device`].

use super::backend_set::{Backends, CopySource};
use super::memory::MemoryRef;
use crate::copy::Copied;
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, copied_managed, export_copy, spanned_managed};
use crate::managed::ManagedTensor;
use crate::stream_arg::StreamArg;
use crate::view::TensorView;

/// Exports a copy of the elements in host memory, from any device.
/// [`DLPackExport::copy_to_dlpack`] does the same for tensors that the processor can read.
/// The host waits for pending work, and for the copy.
///
/// ```
/// use dlpack_traits::backend::{Cpu, copy_to_host};
/// use dlpack_traits::{Flags, OwnedTensor};
///
/// let samples = OwnedTensor::from_vec(vec![1.0_f32, 2.0, 3.0]);
/// let copy = copy_to_host::<Cpu, _>(&samples)?;
/// assert_eq!(copy.flags(), Flags::IS_COPIED);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`DLPackExport::tensor`], [`Error::NoBackend`] for memory of a
/// device that the set does not serve, [`Error::OutOfMemory`],
/// [`Error::PackedStrides`], and those of the device.
pub fn copy_to_host<Set, T>(tensor: &T) -> Result<ManagedTensor, Error>
where
    Set: Backends,
    T: DLPackExport + ?Sized,
{
    let view = tensor.tensor()?;
    let device = view.device();
    if device.is_host() {
        return export_copy(tensor, StreamArg::on_host());
    }
    if !Set::serves(device) {
        return Err(Error::NoBackend { device });
    }
    let copied = Copied::fetched(&view, |byte_offset, to| {
        with_source(tensor, &view, (byte_offset, to.len()), |from| Set::copy_to_host(from, to))
    })?;
    copied_managed(copied)
}

/// Exports a copy on the device of the tensor, for a consumer there. The copy has the
/// strides of the tensor, and the flag IS_COPIED. The host waits for pending work, and for
/// the copy; memory that the processor can read is copied by the host itself.
///
/// # Errors
///
/// Those of [`copy_to_host`], and of a hand-off to the consumer.
pub fn copy_on_device<Set, T>(tensor: &T, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error>
where
    Set: Backends,
    T: DLPackExport + ?Sized,
{
    let device = tensor.tensor()?.device();
    copy_to_device::<Set, T>(tensor, device, consumer)
}

/// [`copy_on_device`], to another device of the same backend, for a consumer there.
///
/// ```
/// use dlpack_traits::backend::{Cpu, copy_to_device};
/// use dlpack_traits::{Device, Error, OwnedTensor, StreamArg};
///
/// let samples = OwnedTensor::from_vec(vec![1.0_f32, 2.0, 3.0]);
/// let copy = copy_to_device::<Cpu, _>(&samples, Device::CPU, StreamArg::unspecified())?;
/// assert_eq!(copy.shape(), [3]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// Those of [`copy_on_device`]; [`Error::NoBackend`] for a device of another backend, and
/// [`Error::Unsupported`] for a backend that does not copy between these devices.
pub fn copy_to_device<Set, T>(
    tensor: &T,
    to: Device,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error>
where
    Set: Backends,
    T: DLPackExport + ?Sized,
{
    let view = tensor.tensor()?;
    let device = view.device();
    if device == Device::CPU && to == device {
        return export_copy(tensor, consumer);
    }
    let owner = with_source(tensor, &view, view.facts().span(), |from| {
        Set::copy_to_device(from, to, consumer)
    })?;
    spanned_managed(owner, &view, consumer.place())
}

/// Calls a function with bytes of the memory of a tensor, which `view` lends: an offset and a length
/// in which elements lie.
fn with_source<T: DLPackExport + ?Sized, R>(
    tensor: &T,
    view: &TensorView<'_>,
    (byte_offset, byte_len): (u64, usize),
    copy: impl FnOnce(CopySource<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let order = |stream: StreamArg<'_>| {
        tensor.sync_for(stream)?;
        view.sync_for(stream)
    };
    let place = MemoryRef { device: view.device(), data: view.facts().base().cast(), byte_offset };
    // SAFETY: 1. The view lends the memory, every element of which lies inside it, and stays
    // borrowed until the call returns. `order` orders the work that fills the memory, and memory is
    // freed after the work of consumers for which it was synchronized.
    copy(unsafe { CopySource::new(&order, place, byte_len, view.dtype()) })
}
