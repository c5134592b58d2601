//! Checks the device of a foreign struct against the runtime: [`check_device`].

use core::ffi::c_void;

use super::backend_trait::memory_type;
use super::memory::MemoryRef;
use super::{Backend, Backends as _, MemoryType};
use crate::device::Device;
use crate::error::Error;
use crate::import::ImportedTensor;

/// Checks that the memory of a tensor is on the device that the tensor names, by a query of
/// the backend's runtime.
///
/// An import does not check this: the query is a call of the runtime per tensor, and
/// producers name their own device correctly. Use it for tensors of a producer that may be
/// wrong, before you launch work on them. The function passes only addresses to the runtime
/// and does not access the memory; for a tensor with elements, it checks both ends.
///
/// | device of the tensor | accepted if the runtime |
/// |---|---|
/// | a device of the backend | reports the memory as that device's |
/// | the CPU, or pinned memory of another device | does not recognize the memory, or reports that the host can access it |
/// | any other device | (never queried: [`Error::NoBackend`]) |
///
/// ```no_run
/// # #[cfg(feature = "cuda")] mod example {
/// use dlpack_traits::ImportedTensor;
/// use dlpack_traits::backend::{self, Cuda};
///
/// fn launch(tensor: &ImportedTensor) -> Result<(), dlpack_traits::Error> {
///     backend::check_device::<Cuda>(tensor)?;
///     // ...
///     Ok(())
/// }
/// # }
/// ```
///
/// # Errors
///
/// [`Error::DeviceMismatch`] with the device that the runtime reports in `storage`;
/// [`Error::NoBackend`] for memory that does not belong to the runtime, and for devices
/// that the backend does not serve; [`Error::Unsupported`] for a backend without
/// [`Backend::attributes`]; and those of the runtime.
pub fn check_device<B: Backend>(tensor: &ImportedTensor) -> Result<(), Error> {
    let claimed = tensor.device();
    let bytes = tensor.byte_range();
    if bytes.is_empty() {
        return Ok(());
    }
    let served = memory_type::<B>(claimed);
    if !served.map_or(claimed.has_addresses(), MemoryType::has_addresses) {
        return check::<B>(tensor.data_ptr().cast(), claimed);
    }
    let first = MemoryRef::of_first_element(tensor).address();
    // The range is half-open: the last byte is at `end - 1`.
    for offset in [bytes.start, bytes.end.saturating_sub(1)] {
        check::<B>(first.wrapping_offset(offset).cast(), claimed)?;
    }
    Ok(())
}

/// Checks one address or handle.
fn check<B: Backend>(data: *const c_void, claimed: Device) -> Result<(), Error> {
    if B::serves(claimed) {
        let known = B::attributes(data, claimed)?.device;
        return agree(claimed, known);
    }
    let Some(kind) = B::MEMORY_TYPES.first().filter(|_| claimed.is_host()) else {
        return Err(Error::NoBackend { device: claimed });
    };
    match B::attributes(data, Device::new(kind.device_type(), 0)) {
        Ok(known) if !known.host_accessible => agree(claimed, known.device),
        // The host can access pinned memory too.
        Ok(_) | Err(Error::NoBackend { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn agree(claimed: Device, known: Device) -> Result<(), Error> {
    if claimed == known {
        return Ok(());
    }
    Err(Error::DeviceMismatch { device: claimed, storage: known })
}
