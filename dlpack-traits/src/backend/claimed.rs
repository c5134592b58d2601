//! What a struct claims of its memory, compared with what a runtime knows:
//! [`check_device`].

use core::ffi::c_void;

use super::PointerAttributes;
use crate::device::Device;
use crate::error::Error;
use crate::import::Imported;

/// Asks a backend's runtime whether the memory of a tensor is where the tensor says.
///
/// An import does not ask: it is a call of the runtime for each tensor, and what a
/// producer says of itself is right. This is for tensors of somebody who may be
/// wrong, before work on them is launched. Memory is not looked at, only its address;
/// of a tensor with elements, both ends are asked about.
///
/// | the tensor says | it passes if the runtime |
/// |---|---|
/// | a device of the backend's | knows its memory, as that device's |
/// | the CPU, or another's pinned memory | does not know it, or lets the host read it |
/// | any other device | (it has nothing to say: [`Error::NoBackend`]) |
///
/// ```no_run
/// use dlpack_traits::Imported;
/// use dlpack_traits::backend::{self, Cuda};
///
/// fn launch(tensor: &Imported) -> Result<(), dlpack_traits::Error> {
///     backend::check_device::<Cuda>(tensor)?;
///     // ...
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// [`Error::DeviceMismatch`] with the device that the runtime names in `storage`;
/// [`Error::NoBackend`] for memory that is none of the runtime's, and for devices
/// that the backend does not serve; and those of the runtime.
pub fn check_device<B: PointerAttributes>(tensor: &Imported) -> Result<(), Error> {
    let claimed = tensor.device();
    let bytes = tensor.byte_range();
    if bytes.is_empty() {
        return Ok(());
    }
    let first = tensor.as_ptr().cast::<c_void>();
    if !claimed.has_addresses() {
        return check::<B>(first, claimed);
    }
    // The highest byte is the one before the end.
    for offset in [bytes.start, bytes.end.saturating_sub(1)] {
        check::<B>(first.wrapping_byte_offset(offset), claimed)?;
    }
    Ok(())
}

/// Compares one address, or handle.
fn check<B: PointerAttributes>(data: *const c_void, claimed: Device) -> Result<(), Error> {
    if B::DEVICE_TYPES.contains(&claimed.device_type()) {
        let known = B::attributes(data, claimed)?.device;
        return agree(claimed, known);
    }
    let Some(kind) = B::DEVICE_TYPES.first().filter(|_| claimed.is_host()) else {
        return Err(Error::NoBackend { device: claimed });
    };
    match B::attributes(data, Device::new(*kind, 0)) {
        Ok(known) if !known.host_accessible => agree(claimed, known.device),
        // Pinned memory is the host's too.
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
