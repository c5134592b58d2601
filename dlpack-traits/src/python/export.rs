//! Carrying out what was decided about the keywords of `__dlpack__`.

use pyo3::PyResult;

use super::protocol::{Copy, Plan};
use crate::backend::{Backends, copy_on_device_managed, copy_to_host_managed};
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, copy_managed, share_managed};
use crate::managed::{Abi, ManagedTensor};
use crate::stream::StreamArg;

/// Why a tensor was not shared as it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instead {
    /// A copy is to be exported.
    Copy,
    /// Its storage has a single owner, and there is none that the export could hold.
    Alone,
    /// It cannot be exported.
    Refused(Error),
}

impl Plan {
    /// Exports a tensor that stays usable, without a copy.
    #[inline(always)]
    pub(super) fn share<A: Abi>(
        self,
        tensor: &impl DLPackExport,
        stream: StreamArg<'_>,
    ) -> Result<ManagedTensor<A>, Instead> {
        if self.copy == Copy::Always {
            return Err(Instead::Copy);
        }
        if !A::HAS_FLAGS && is_frozen(tensor) {
            // It will not do, so its owners need not be counted for it.
            return Err(self.instead(tensor, Error::ReadOnlyLegacy));
        }
        match share_managed(tensor, stream) {
            Ok(tensor) => Ok(tensor),
            Err(error) => Err(self.instead(tensor, error)),
        }
    }

    /// What is done about an error.
    #[cold]
    pub(super) fn instead(self, tensor: &impl DLPackExport, error: Error) -> Instead {
        match error {
            Error::NotShareable => Instead::Alone,
            // The struct has no flag for it, but a copy need not say it.
            Error::ReadOnlyLegacy if self.copy != Copy::Never => match tensor.tensor() {
                Ok(view) if view.device() == Device::CPU => Instead::Copy,
                _ => Instead::Refused(error),
            },
            error => Instead::Refused(error),
        }
    }

    /// Exports a copy, on the device that was asked for.
    #[inline(never)]
    pub(super) fn copied<A: Abi, B: Backends>(
        self,
        tensor: &impl DLPackExport,
        stream: StreamArg<'_>,
    ) -> PyResult<ManagedTensor<A>> {
        let device = tensor.tensor()?.device();
        let served = B::serves(device);
        if served && device != Device::CPU && !self.onto_cpu {
            return Ok(copy_on_device_managed::<A, B, _>(tensor, stream)?);
        }
        self.may_copy(device)?;
        if device.is_host() || !served {
            return Ok(copy_managed(tensor, stream)?);
        }
        // The consumer is on the host, and so is its stream.
        stream.host()?;
        Ok(copy_to_host_managed::<A, B, _>(tensor)?)
    }
}

/// Whether what holds the elements says that nobody may write. Other tensors may be
/// read-only too.
#[inline(always)]
fn is_frozen(tensor: &impl DLPackExport) -> bool {
    tensor.storage().is_some_and(|storage| storage.data().memory_ref().access.is_read_only())
}

/// Whether a copy of a tensor takes long enough for other threads to care.
pub(super) fn is_large(tensor: &impl DLPackExport) -> bool {
    /// Elements, whatever their size: some tens of microseconds.
    const MANY: i64 = 1 << 16;
    tensor.tensor().is_ok_and(|view| view.numel() >= MANY)
}
