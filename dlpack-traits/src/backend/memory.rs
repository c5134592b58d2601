//! What functions of a backend take and return: a location in memory ([`MemoryRef`]), a range of bytes
//! ([`MemoryRange`]), [`Attributes`], and the description of a tensor to be allocated ([`Prototype`]);
//! and what is true of a kind of memory ([`MemoryType`]).

use core::ffi::c_void;
use core::ptr::NonNull;

use crate::device::Device;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLDeviceType;
use crate::import::ImportedTensor;
use crate::storage::{InObject, Window};
use crate::strides;

/// The location of bytes: an offset from an address, or into the object behind a handle.
///
/// A kernel for a device with addresses takes [`address`](Self::address). One for a device with
/// handles takes `data` and `byte_offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRef {
    /// The device.
    pub device: Device,
    /// First byte of the memory, or its handle on devices without addresses.
    pub data: *mut c_void,
    /// Offset of the bytes, in bytes.
    pub byte_offset: u64,
}

impl MemoryRef {
    /// The location of the first element of a tensor.
    pub(crate) fn of_first_element(tensor: &ImportedTensor) -> Self {
        let data = tensor.data_ptr().cast_mut().cast();
        Self { device: tensor.device(), data, byte_offset: tensor.byte_offset() }
    }

    /// The address of the bytes, on devices that have addresses.
    pub fn address(&self) -> *mut u8 {
        // The offset of a byte in memory fits `usize`.
        let byte_offset = usize::try_from(self.byte_offset).unwrap_or(usize::MAX);
        self.data.cast::<u8>().wrapping_add(byte_offset)
    }

    /// The handle of the object, and the offset of the bytes in it, on devices that have
    /// handles.
    #[cfg(feature = "opencl")]
    pub(super) fn in_object(&self) -> Result<(*mut c_void, usize), Error> {
        let byte_offset = usize::try_from(self.byte_offset).map_err(|_| Error::SizeOverflow)?;
        Ok((self.data, byte_offset))
    }
}

/// The direction of a copy by a backend.
#[cfg(any(
    feature = "cuda",
    feature = "opencl",
    feature = "rocm",
    feature = "vulkan",
    feature = "webgpu"
))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    OnDevice,
    ToHost,
    FromHost,
}

#[cfg(any(
    feature = "cuda",
    feature = "opencl",
    feature = "rocm",
    feature = "vulkan",
    feature = "webgpu"
))]
impl Direction {
    /// The direction between memory that the copying stream reaches, and that of the processor.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with `what`, and the device of memory that is neither.
    pub(super) fn of(
        from: &MemoryRef,
        to: &MemoryRef,
        is_reached: impl Fn(Device) -> bool,
        what: &'static str,
    ) -> Result<Self, Error> {
        match (is_reached(from.device), is_reached(to.device)) {
            (true, true) => Ok(Self::OnDevice),
            (true, false) if to.device == Device::CPU => Ok(Self::ToHost),
            (false, true) if from.device == Device::CPU => Ok(Self::FromHost),
            (reached, _) => {
                let device = if reached { to.device } else { from.device };
                Err(Error::Unsupported { device, what })
            }
        }
    }
}

/// A range of bytes: the memory of a buffer, which may be a part of an allocation or of an object, as a
/// pool returns it.
///
/// ```
/// use core::ptr::NonNull;
/// use dlpack_traits::backend::MemoryRange;
///
/// // 256 bytes of the object behind a handle, from byte 512 on.
/// let object = NonNull::<core::ffi::c_void>::dangling();
/// let part = MemoryRange { byte_offset: 512, ..MemoryRange::new(object, 256) };
/// assert_eq!((part.byte_offset, part.byte_len), (512, 256));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// An address, or on devices without addresses the handle of an object.
    pub data: NonNull<c_void>,
    /// Bytes from there to the first byte of the range.
    pub byte_offset: usize,
    /// Length in bytes.
    pub byte_len: usize,
}

impl MemoryRange {
    /// The first bytes of an allocation or object.
    pub const fn new(data: NonNull<c_void>, byte_len: usize) -> Self {
        Self { data, byte_offset: 0, byte_len }
    }

    /// The bytes as a window: an offset is added to an address, and stays beside a handle.
    pub(super) fn window(self, has_addresses: bool) -> Window {
        let Self { data, byte_offset, byte_len } = self;
        let data = data.as_ptr().cast::<u8>();
        if has_addresses {
            Window::at(data.wrapping_add(byte_offset), byte_len)
        } else {
            Window { data, in_object: Some(InObject::new(byte_offset)), byte_len }
        }
    }
}

/// The attributes of an address, as the runtime reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The device type that the standard has for such memory, and its id.
    pub device: Device,
    /// Whether the processor may access the memory at the address.
    pub host_accessible: bool,
}

/// Type, shape and device of a tensor to be allocated: contiguous, row-major,
/// and validated, so that its size fits `usize`.
#[derive(Debug)]
pub struct Prototype<'a> {
    dtype: DataType,
    shape: Dims<'a>,
    device: Device,
    byte_len: usize,
}

impl<'a> Prototype<'a> {
    /// Validates a request.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`], [`Error::TooManyDims`],
    /// [`Error::NegativeDim`] and [`Error::SizeOverflow`].
    #[inline]
    pub fn new(dtype: DataType, shape: Dims<'a>, device: Device) -> Result<Self, Error> {
        if !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let ndim = shape.as_slice().len();
        if ndim > strides::MAX_NDIM {
            return Err(Error::TooManyDims { ndim });
        }
        let numel = strides::numel(shape.as_slice())?;
        // 63 and 32 bits: the product fits.
        let bits = u128::from(numel.unsigned_abs()).wrapping_mul(dtype.element_bits().into());
        let bytes = isize::try_from(bits.div_ceil(8)).map_err(|_| Error::SizeOverflow)?;
        let byte_len = bytes.unsigned_abs();
        Ok(Self { dtype, shape, device, byte_len })
    }

    /// Type of the elements.
    pub const fn dtype(&self) -> DataType {
        self.dtype
    }

    /// The shape, in elements.
    pub fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    /// The device on which to allocate.
    pub const fn device(&self) -> Device {
        self.device
    }

    /// Size of all elements, in bytes. Elements narrower than a byte are
    /// packed.
    pub const fn byte_len(&self) -> usize {
        self.byte_len
    }
}

/// A kind of memory that a backend serves, with what is true of it.
///
/// All kinds of memory of a backend share its streams: a stream of a device works on memory with
/// the number of that device, and on memory that the processor reads. Memory on which only other
/// streams can work belongs to another backend.
///
/// ```
/// use dlpack_traits::backend::MemoryType;
/// use dlpack_traits::ffi::{kDLExtDev, kDLTPU, kDLTPUHost};
///
/// const OPAQUE: &[MemoryType] = &[MemoryType::with_handles(kDLExtDev)];
/// const WITH_PINNED: &[MemoryType] = &[
///     MemoryType::with_addresses(kDLTPU),
///     MemoryType::with_addresses(kDLTPUHost).read_by_host(),
/// ];
/// # assert!(!OPAQUE[0].has_addresses() && WITH_PINNED[1].is_read_by_host());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryType {
    device_type: DLDeviceType,
    has_addresses: bool,
    read_by_host: bool,
}

impl MemoryType {
    /// Memory whose `data` is an address. A part of it is exported at its own address, with a
    /// `byte_offset` of 0, and must be aligned for its elements.
    pub const fn with_addresses(device_type: DLDeviceType) -> Self {
        Self { device_type, has_addresses: true, read_by_host: false }
    }

    /// Memory whose `data` is the handle of an object. Nothing is added to it: a part of the
    /// object is exported with its `byte_offset`.
    ///
    /// # Panics
    ///
    /// If the standard defines `data` as an address ([`Device::has_addresses`]); in a constant,
    /// when it is compiled.
    pub const fn with_handles(device_type: DLDeviceType) -> Self {
        assert!(
            !Device::new(device_type, 0).has_addresses(),
            "`data` is an address on this type of device"
        );
        Self { device_type, has_addresses: false, read_by_host: false }
    }

    /// Memory that the processor reads at its address while the device may write it: pinned,
    /// managed or unified memory. The host waits for a consumer that names no stream, which may be a
    /// library of the host, and memory is freed after a wait.
    #[must_use]
    pub const fn read_by_host(self) -> Self {
        Self { read_by_host: true, ..self }
    }

    /// The device type.
    pub const fn device_type(self) -> DLDeviceType {
        self.device_type
    }

    /// Whether `data` is an address.
    pub const fn has_addresses(self) -> bool {
        self.has_addresses
    }

    /// Whether the processor reads the memory at its address.
    pub const fn is_read_by_host(self) -> bool {
        self.read_by_host
    }
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;

    /// An offset is added to an address, and passed beside a handle, which is not an
    /// address.
    #[test]
    fn offsets_are_of_addresses_or_beside_handles() {
        let place = MemoryRef {
            device: Device::CPU,
            data: ptr::without_provenance_mut(64),
            byte_offset: 24,
        };
        assert_eq!(place.address().addr(), 88);
        #[cfg(feature = "opencl")]
        assert_eq!(place.in_object(), Ok((ptr::without_provenance_mut(64), 24)));
    }
}
