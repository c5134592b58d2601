//! Carrying out what was decided about the keywords of `__dlpack__`.

use pyo3::PyResult;

use super::protocol::{Copy, Plan};
use crate::backend::{Backends, copy_to_host_managed};
use crate::device::Device;
use crate::error::Error;
use crate::export::{DLPackExport, copy_managed, share_managed};
use crate::managed::{Abi, ManagedTensor};
use crate::stream::StreamArg;

impl Plan {
    /// Exports a tensor that stays usable. `None` where its storage has a
    /// single owner, and there is none that the export could hold.
    pub(super) fn export<A: Abi, B: Backends>(
        self,
        tensor: &impl DLPackExport,
        stream: StreamArg<'_>,
    ) -> PyResult<Option<ManagedTensor<A>>> {
        if self.copy == Copy::Always {
            let device = tensor.tensor()?.device();
            let served = B::serves(device);
            self.may_copy(device, served)?;
            if device.is_host() || !served {
                return Ok(Some(copy_managed(tensor, stream)?));
            }
            // The consumer is on the host, and so is its stream.
            stream.host()?;
            return Ok(Some(copy_to_host_managed::<A, B, _>(tensor)?));
        }
        if !A::HAS_FLAGS {
            // What has no flags cannot say "read-only", but a copy need not.
            let view = tensor.tensor()?;
            if view.is_read_only() {
                if self.copy == Copy::Never || view.device() != Device::CPU {
                    return Err(Error::ReadOnlyLegacy.into());
                }
                return Ok(Some(copy_managed(tensor, stream)?));
            }
        }
        match share_managed(tensor, stream) {
            Err(Error::NotShareable) => Ok(None),
            shared => Ok(Some(shared?)),
        }
    }
}
