//! Reads the fields of a foreign struct: [`Managed`], [`Unmanaged`], [`RawTensor`].

use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLPACK_MAJOR_VERSION, DLTensor,
};
use crate::flags::Flags;
use crate::managed::{Abi, Release};
use crate::strides::MAX_NDIM;
use crate::version::Version;

/// A foreign struct that is being imported, and the obligation to call its deleter.
///
/// Invariant: 1 to 5 of [`ImportedTensor::from_raw`](crate::import::ImportedTensor::from_raw) hold for it,
/// and its deleter has not been called.
pub(in crate::import) struct Managed<A: Abi> {
    managed: NonNull<A>,
}

impl<A: Abi> Managed<A> {
    /// `None` for NULL.
    ///
    /// # Safety
    ///
    /// 1. 1 to 5 of [`ImportedTensor::from_raw`](crate::import::ImportedTensor::from_raw) hold for
    ///    `managed`, and its deleter is not called as long as this value is used.
    #[inline(always)]
    pub(in crate::import) unsafe fn new(managed: *mut A) -> Option<Self> {
        Some(Self { managed: NonNull::new(managed)? })
    }

    /// The obligation to call the deleter.
    #[inline(always)]
    pub(in crate::import) fn release(self) -> Release {
        let this = ManuallyDrop::new(self);
        // SAFETY: 1. and 2. By the invariant (1 and 2 of `from_raw`); this value is not used again.
        unsafe { A::release_of(this.managed) }
    }

    /// The tensor, if the version of the struct is supported.
    ///
    /// # Errors
    ///
    /// [`Error::VersionUnsupported`].
    #[inline(always)]
    pub(in crate::import) fn tensor(&self) -> Result<RawTensor<'_>, Error> {
        // SAFETY: 1. By the invariant (1 of `from_raw`), until the deleter is called.
        let version = unsafe { A::version_field(self.managed) };
        let major = version.map_or(DLPACK_MAJOR_VERSION, |version| version.major);
        if let Some(version) = version.filter(|_| !Version::new(major, 0).is_readable()) {
            return Err(Error::VersionUnsupported { found: Version::new(major, version.minor) });
        }
        let minor = version.map(|version| &version.minor);
        // SAFETY: by the invariant (1 of `from_raw`) the whole struct exists, because its major
        // version is 1, and no one writes it until its deleter is called.
        let managed = unsafe { self.managed.as_ref() };
        let (tensor, flags) = (managed.tensor(), managed.flags());
        Ok(RawTensor { tensor, flags, minor })
    }
}

impl<A: Abi> Drop for Managed<A> {
    /// Calls the deleter, after an error or a panic of a check of elements.
    #[cold]
    fn drop(&mut self) {
        // SAFETY: 1. and 2. By the invariant (1 and 2 of `from_raw`); this value is not used again.
        drop(unsafe { A::release_of(self.managed) });
    }
}

/// A tensor that has no managed struct.
///
/// Invariant: 3 to 5 of [`ImportedTensor::from_raw`](crate::import::ImportedTensor::from_raw) hold for
/// `tensor`.
#[cfg(feature = "pyo3")]
pub(crate) struct Unmanaged {
    tensor: DLTensor,
    flags: u64,
    /// That of the current major version; `None` of the legacy struct.
    minor: Option<u32>,
}

#[cfg(feature = "pyo3")]
impl Unmanaged {
    /// Without a version the tensor is read-only.
    ///
    /// # Safety
    ///
    /// 1. 3 to 5 of [`ImportedTensor::from_raw`](crate::import::ImportedTensor::from_raw) hold for `tensor`,
    ///    until the release with which it is imported is dropped.
    #[inline(always)]
    pub(crate) unsafe fn new(tensor: DLTensor, flags: Flags, version: Option<Version>) -> Self {
        Self { tensor, flags: flags.bits(), minor: version.map(|version| version.minor) }
    }

    /// The tensor.
    #[inline(always)]
    pub(in crate::import) fn tensor(&self) -> RawTensor<'_> {
        let Self { tensor, flags, minor } = self;
        let (flags, minor) = (Some(flags), minor.as_ref());
        RawTensor { tensor, flags, minor }
    }
}

/// A foreign tensor. A field is read where it is used: what is read before the allocator is called is
/// saved to the stack during the call.
///
/// Invariant: 3 of [`ImportedTensor::from_raw`](crate::import::ImportedTensor::from_raw) holds for `tensor`,
/// for `'a`.
#[derive(Clone, Copy)]
pub(in crate::import) struct RawTensor<'a> {
    tensor: &'a DLTensor,
    /// `None` of a struct without flags.
    flags: Option<&'a u64>,
    /// The minor version; `None` of the legacy struct.
    minor: Option<&'a u32>,
}

/// The fields of a foreign tensor without its lists.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct RawMetadata {
    /// `None` of the legacy struct.
    pub(in crate::import) version: Option<Version>,
    pub(in crate::import) flags: Flags,
    pub(in crate::import) data: *mut u8,
    pub(in crate::import) byte_offset: u64,
    pub(in crate::import) device: Device,
    pub(in crate::import) dtype: DataType,
}

/// Shape and strides. Both lists have equally many numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct RawLists<'a> {
    pub(in crate::import) shape: &'a [i64],
    /// `None` for NULL.
    pub(in crate::import) strides: Option<&'a [i64]>,
}

/// The maximum number of dimensions, in the type of the struct.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "64")]
const MOST: i32 = MAX_NDIM as i32;

impl<'a> RawTensor<'a> {
    /// The fields without the lists.
    #[inline(always)]
    pub(in crate::import) fn metadata(self) -> RawMetadata {
        let &DLTensor { data, ref device, ref dtype, byte_offset, .. } = self.tensor;
        // Before the other fields, which the compiler otherwise keeps in memory while it reads these
        // (measured: 3 instructions less).
        let (device, dtype) = (read_device(device), read_dtype(dtype));
        RawMetadata {
            version: self.minor.map(|&minor| Version::new(DLPACK_MAJOR_VERSION, minor)),
            flags: self.flags.map_or(Flags::NONE, |&flags| Flags::from_bits(flags)),
            data: data.cast(),
            byte_offset,
            device,
            dtype,
        }
    }

    /// Shape and strides of nearly every tensor: `None` without dimensions, beyond 64 of them, and for
    /// a shape of NULL. Lists that may have no numbers take 20 instructions more.
    #[inline(always)]
    pub(in crate::import) fn some_lists(self) -> Option<RawLists<'a>> {
        // One comparison of the number as it is (measured: 2 instructions less than afterwards).
        let ndim = Some(self.tensor.ndim).filter(|ndim| (1..=MOST).contains(ndim))?;
        self.read_lists(usize::try_from(ndim).ok()?)
    }

    /// Shape and strides.
    ///
    /// # Errors
    ///
    /// [`Error::NegativeRank`], [`Error::TooManyDims`], [`Error::NullShape`].
    #[inline]
    pub(in crate::import) fn lists(self) -> Result<RawLists<'a>, Error> {
        let ndim = self.tensor.ndim;
        let ndim = usize::try_from(ndim).map_err(|_| Error::NegativeRank { ndim })?;
        if ndim > MAX_NDIM {
            return Err(Error::TooManyDims { ndim });
        }
        self.read_lists(ndim).ok_or(Error::NullShape { ndim })
    }

    /// Shape and strides, of as many numbers as the tensor has dimensions, at most 64.
    #[inline(always)]
    fn read_lists(self, ndim: usize) -> Option<RawLists<'a>> {
        // SAFETY: 1. By the invariant the array is NULL or has `ndim` numbers.
        let shape = unsafe { read_array(self.tensor.shape, ndim) }?;
        // SAFETY: 1. As above.
        let strides = unsafe { read_array(self.tensor.strides, ndim) };
        Some(RawLists { shape, strides })
    }
}

impl RawLists<'_> {
    /// How many numbers shape and strides have together.
    #[inline(always)]
    pub(in crate::import) fn numbers(self) -> usize {
        // There are at most 64 dimensions.
        self.shape.len().wrapping_mul(2)
    }
}

/// A number at any address.
#[repr(C, packed)]
struct Unaligned<T>(T);

/// Reads a number by one read. The compiler may turn an ordinary read into two, and did in release
/// builds; `hostile/raw_import.rs` counts the reads of all fields and numbers, also in a release build.
#[inline(always)]
pub(in crate::import) fn read_once(number: &i64) -> i64 {
    // SAFETY: `number` is a reference to an initialized number.
    unsafe { ptr::from_ref(number).read_volatile() }
}

/// Reads a device as [`read_once`] does, on 64-bit processors that allow any alignment as one number
/// (measured, with [`read_dtype`]: 9 instructions less). It is then stored as one number too. Stored as
/// two, a later load of both would wait for both stores (store forwarding fails).
#[inline(always)]
fn read_device(device: &DLDevice) -> Device {
    const { assert!(size_of::<DLDevice>() == size_of::<u64>()) };
    let place = ptr::from_ref(device).cast::<Unaligned<u64>>();
    // SAFETY: a device is initialized, has the size of the number and no padding, and any address is
    // aligned for a packed struct.
    let Unaligned(number) = unsafe { place.read_volatile() };
    let [a, b, c, d, index @ ..] = number.to_ne_bytes();
    let device_type = DLDeviceType(i32::from_ne_bytes([a, b, c, d]));
    Device::new(device_type, i32::from_ne_bytes(index))
}

/// Reads an element type as [`read_device`] reads a device.
#[inline(always)]
fn read_dtype(dtype: &DLDataType) -> DataType {
    const { assert!(size_of::<DLDataType>() == size_of::<u32>()) };
    let place = ptr::from_ref(dtype).cast::<Unaligned<u32>>();
    // SAFETY: an element type is initialized, has the size of the number and no padding, and any
    // address is aligned for a packed struct.
    let Unaligned(number) = unsafe { place.read_volatile() };
    let [code, bits, lanes @ ..] = number.to_ne_bytes();
    DataType::new(DLDataTypeCode(code), bits, u16::from_ne_bytes(lanes))
}

/// The numbers of an array; `None` if it is NULL. An array without entries is not read.
///
/// # Safety
///
/// 1. `array` is NULL, or points to `len` aligned, initialized numbers, which no thread
///    writes for `'a`; or `len` is 0.
#[inline(always)]
pub(crate) unsafe fn read_array<'a>(array: *const i64, len: usize) -> Option<&'a [i64]> {
    if len == 0 {
        Some(&[])
    } else if array.is_null() {
        None
    } else {
        // SAFETY: by 1 the numbers are initialized, aligned and not written for `'a`.
        Some(unsafe { slice::from_raw_parts(array, len) })
    }
}
