//! The memory of an imported tensor: as a loan for its next export ([`memory_of`], [`layout_of`]),
//! and whether the processor can read it ([`ImportedTensor::on_host`]).

use super::ImportedTensor;
use crate::describe::{Layout, List};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::flags::Flags;
use crate::storage::{DataRef, ForeignInfo, InObject, Window};
use crate::stream_arg::ConsumerPlace;
use crate::version::Version;

/// The bytes from the lowest of an element to the highest. The validation of the import checked that
/// the numbers fit (`validate`). Where `data` may be a handle it is kept as one, with its offset.
#[inline(always)]
fn window_of(tensor: &ImportedTensor, device: Device) -> Window {
    let (first, before) = (tensor.data_ptr().cast_mut(), byte_offset_of(tensor));
    let byte_len = before.wrapping_add_signed(tensor.byte_range().end);
    if !device.has_addresses() {
        let byte_offset = usize::try_from(tensor.byte_offset()).unwrap_or(0);
        let in_object = Some(InObject::new(byte_offset.wrapping_sub(before)));
        return Window { data: first, in_object, byte_len };
    }
    let lowest = first.wrapping_sub(before);
    let start = if byte_len == 0 { core::ptr::dangling_mut::<u64>().cast() } else { lowest };
    Window::at(start, byte_len)
}

/// The memory of an imported tensor, from its lowest byte to its highest, with the access with
/// which it was imported.
///
/// Inlined, so that the returned value is not copied through memory (measured: 12 ns per
/// export).
#[inline(always)]
pub(super) fn memory_of(tensor: &ImportedTensor) -> DataRef<'_> {
    memory_as(tensor, tensor.dtype())
}

/// As [`memory_of`], for a tensor whose elements are known to have the type `dtype`.
#[inline(always)]
pub(super) fn memory_as(tensor: &ImportedTensor, dtype: DataType) -> DataRef<'_> {
    let later = match tensor.version() {
        Some(version) if version > Version::CURRENT && !dtype.is_well_formed() => later(version),
        _ => 0,
    };
    let came = ForeignInfo { later, synchronized: tensor.synchronized() };
    let data = data_of(tensor, dtype, tensor.device(), came);
    let padded = tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED);
    if padded { data.into_padded() } else { data }
}

/// As [`memory_as`], for a type that DLPack defines up to the version of this crate; `None` for
/// a tensor that is not [ordinary](ImportedTensor::is_ordinary). The constants make most checks
/// of an export constant too (measured: 52 of 293 instructions, and 3 of 22 ns).
#[inline(always)]
pub(super) fn ordinary_memory_as(tensor: &ImportedTensor, dtype: DataType) -> Option<DataRef<'_>> {
    // Ordinary memory of the host needs no synchronization, so any consumer can be named here.
    let came = ForeignInfo { later: 0, synchronized: ConsumerPlace::DefaultStream };
    tensor.is_ordinary().then(|| data_of(tensor, dtype, Device::CPU, came))
}

/// The bytes of a tensor as elements of the type `dtype`. `device` is that of the tensor, and
/// `came` is true of it.
#[inline(always)]
fn data_of(
    tensor: &ImportedTensor,
    dtype: DataType,
    device: Device,
    came: ForeignInfo,
) -> DataRef<'_> {
    let window = window_of(tensor, device);
    // SAFETY:
    // 1. By 4 of `ImportedTensor::from_raw` the bytes of the window are part of one allocation or
    //    object, which is alive as long as the tensor.
    // 2. By 4 they are initialized, and the producer decides what they mean. Their type has
    //    a size.
    // 3. By 4 they may be read, and written unless the tensor is read-only. By 5 no
    //    Rust reference conflicts, and other accesses are byte-wise atomic or
    //    ordered; for memory that this crate exported, `tensor.access()` states who else
    //    accesses it.
    unsafe { DataRef::of_window(window, dtype, device, tensor.access(), Some(came)) }
}

/// The least number of minor versions by which the type of the elements is newer than this
/// crate.
#[cold]
fn later(version: Version) -> u8 {
    let minors = version.minor.saturating_sub(Version::CURRENT.minor);
    minors.try_into().unwrap_or(u8::MAX)
}

/// The layout of the elements within [`memory_of`] the tensor.
#[inline(always)]
pub(super) fn layout_of(tensor: &ImportedTensor) -> Layout<'_> {
    Layout::new(tensor.shape()).strides(tensor.strides()).byte_offset(byte_offset_of(tensor))
}

/// The layout for elements that are arrays with these axes. A stride that is not a multiple of an
/// element is an error.
pub(super) fn layout_of_arrays<'a>(tensor: &'a ImportedTensor, axes: &[i64]) -> Layout<'a> {
    let rank = tensor.ndim().saturating_sub(axes.len());
    let shape = tensor.shape().get(..rank).unwrap_or_default();
    let size = tensor.dtype().byte_size().and_then(|size| i64::try_from(size).ok()).unwrap_or(0);
    let some = tensor.numel() != 0;
    // The stride of an axis of one element, or of an empty tensor, is not used. Other strides fit,
    // because the elements do.
    let bytes = |(&stride, &dim): (&i64, &i64)| {
        Some(if some && dim != 1 { stride.wrapping_mul(size) } else { 0 })
    };
    let layout = Layout::new(shape).byte_offset(byte_offset_of(tensor));
    layout.byte_strides(List::computed(tensor.strides().iter().zip(shape).map(bytes)))
}

/// Bytes from the start of [`memory_of`] the tensor to its first element.
#[inline(always)]
pub(super) fn byte_offset_of(tensor: &ImportedTensor) -> usize {
    // Not positive, and counted from the first element. Negated, because `unsigned_abs` takes 7
    // instructions more per export of an import (measured).
    0_usize.wrapping_add_signed(tensor.byte_range().start.wrapping_neg())
}

impl ImportedTensor {
    /// Checks that the processor can read the elements, and that they are ready for it:
    /// memory that a device writes may have been synchronized with a stream only.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NotOrdered`].
    #[inline]
    pub(super) fn on_host(&self) -> Result<(), Error> {
        let device = self.device();
        // Nearly all memory. First, so that later tests of the device are known too (measured: 4
        // instructions per `ImportedStorage`).
        if device.device_type() == ffi::kDLCPU {
            return Ok(());
        }
        if !device.is_host() {
            return Err(Error::NotOnHost { device });
        }
        if device.is_read_by_host() && self.synchronized() == ConsumerPlace::Stream {
            return Err(Error::NotOrdered { device });
        }
        Ok(())
    }
}
