//! Copies of tensors of any device: [`copy_to_host`].

use super::memory::Place;
use super::set::Backends;
use crate::copy::Copied;
use crate::error::Error;
use crate::export::{DLPackExport, copied_managed, copy_managed};
use crate::managed::{Abi, ManagedTensor};
use crate::stream::StreamArg;

/// Exports a copy of the elements in host memory, wherever they are: what
/// [`DLPackExport::copy_to_dlpack`] does for tensors that the processor can
/// read. The host waits for pending work, and for the copy.
///
/// ```
/// use dlpack_traits::backend::{Cpu, copy_to_host};
/// use dlpack_traits::{Flags, SharedBuffer};
/// # use dlpack_traits::{DLPackExport, Error, Layout, Storage, TensorView};
/// # struct Samples(SharedBuffer<f32>);
/// # impl DLPackExport for Samples {
/// #     fn tensor(&self) -> Result<TensorView<'_>, Error> {
/// #         TensorView::new(self.0.data(), Layout::row_major(&[3])?)
/// #     }
/// # }
///
/// let samples = Samples(SharedBuffer::from_slice(&[1.0, 2.0, 3.0])?);
/// let copy = copy_to_host::<Cpu, _>(&samples)?;
/// assert_eq!(copy.flags(), Flags::IS_COPIED);
/// # Ok::<(), Error>(())
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
    copy_to_host_managed::<_, Set, T>(tensor)
}

/// [`copy_to_host`] for either struct.
pub(crate) fn copy_to_host_managed<A, Set, T>(tensor: &T) -> Result<ManagedTensor<A>, Error>
where
    A: Abi,
    Set: Backends,
    T: DLPackExport + ?Sized,
{
    let view = tensor.tensor()?;
    let device = view.device();
    if device.is_host() {
        return copy_managed(tensor, StreamArg::on_host());
    }
    if !Set::serves(device) {
        return Err(Error::NoBackend { device });
    }
    let order = |stream: StreamArg<'_>| tensor.hand_off(stream);
    let copied = Copied::fetched(&view, |byte_offset, to| {
        let data = view.described().memory().ptr.cast();
        // SAFETY: 1. The view lends the memory, every element of which lies
        // inside it, and stays borrowed until the call returns. What fills it is
        // what `hand_off` orders.
        unsafe { Set::copy_to_host(&order, Place { device, data, byte_offset }, to) }
    })?;
    copied_managed(copied)
}
