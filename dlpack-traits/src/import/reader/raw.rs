//! Reads the fields of a foreign struct ([`Managed`], [`Unmanaged`], [`RawTensor`]), and copies its shape
//! and strides: [`copy_lists`], [`copy_any`].

use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};
use core::slice;

use crate::describe::contiguous;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLPACK_MAJOR_VERSION, DLTensor,
};
use crate::flags::Flags;
use crate::managed::{Abi, Release};
use crate::strides::{MAX_NDIM, row_major_strides};
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

/// Copies shape and strides to a list of as many numbers, and validates them in the loop that copies:
/// three separate loops take 6 ns longer for two dimensions. For NULL strides it writes those of a
/// contiguous row-major tensor. Each number is read once, so a producer that changes it meanwhile has no
/// effect. NULL strides share the loop of exports. Others share its arithmetic of ends only: the loop of
/// exports (`describe::walk`) also finds repeated elements, which an import does not need
/// (measured: with that loop an import takes 278 instructions instead of 217).
///
/// Returns the number of elements, and the range of elements that the strides reach; then all numbers
/// of the list have been written. `None` does not mean that the tensor is invalid: see [`copy_any`].
#[inline(always)]
pub(in crate::import) fn copy_lists(
    to: &mut [MaybeUninit<i64>],
    RawLists { shape, strides }: RawLists<'_>,
) -> Option<(i64, ElementRange)> {
    let ndim = shape.len();
    let (to_shape, to_strides) = to.split_at_mut_checked(ndim).filter(|to| to.1.len() == ndim)?;
    let Some(strides) = strides else {
        let dims = shape.iter().map(|dim| Some(read_once(dim)));
        let axes = dims.zip(to_shape.iter_mut().zip(to_strides)).rev();
        let numel = contiguous(1, axes, |(to_dim, to_stride), dim, stride| {
            to_dim.write(dim);
            to_stride.write(stride);
        })?;
        return Some((numel, ElementRange::of_contiguous(numel)));
    };
    let mut numel = 1_i64;
    let mut reach = ElementRange::of_contiguous(1);
    // Upwards: downwards the compiler computes the end of each list first (measured: 8 instructions).
    for axis in 0..ndim {
        let (dim, stride) = (read_once(shape.get(axis)?), read_once(strides.get(axis)?));
        to_shape.get_mut(axis)?.write(dim);
        to_strides.get_mut(axis)?.write(stride);
        reach.step(dim, stride).filter(|()| dim > 0)?;
        numel = numel.checked_mul(dim)?;
    }
    Some((numel, reach))
}

/// Copies shape and strides of any tensor to a list of as many numbers, and returns the copies. NULL
/// strides become those of a contiguous row-major tensor.
pub(in crate::import) fn copy_any<'a>(
    to: &'a mut [i64],
    RawLists { shape, strides }: RawLists<'_>,
) -> (&'a [i64], &'a [i64]) {
    let (to_shape, to_strides) = to.split_at_mut(shape.len().min(to.len()));
    let copy_to = |to: &mut [i64], numbers: &[i64]| {
        to.iter_mut().zip(numbers).for_each(|(to, number)| *to = read_once(number));
    };
    copy_to(to_shape, shape);
    match strides {
        Some(strides) => copy_to(to_strides, strides),
        None => row_major_strides(to_shape, to_strides),
    }
    (to_shape, to_strides)
}

/// The range of elements that an import reaches, counted from the first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct ElementRange {
    /// The lowest element: 0 or negative.
    low: i64,
    /// The highest element: 0 or positive.
    high: i64,
}

impl ElementRange {
    /// The elements of a contiguous tensor.
    #[inline(always)]
    pub(in crate::import) const fn of_contiguous(numel: i64) -> Self {
        Self { low: 0, high: numel.wrapping_sub(1) }
    }

    /// Adds an axis. `None` if an end does not fit in 64 bits.
    #[inline(always)]
    fn step(&mut self, dim: i64, stride: i64) -> Option<()> {
        let last = dim.wrapping_sub(1).checked_mul(stride)?;
        if last < 0 {
            self.low = self.low.checked_add(last)?;
        } else {
            self.high = self.high.checked_add(last)?;
        }
        Some(())
    }

    /// Number of elements before the first one.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`low` is not positive")]
    pub(in crate::import) const fn below(self) -> u64 {
        0_i64.wrapping_sub(self.low) as u64
    }

    /// Number of elements from the first one to the highest, both included.
    #[inline(always)]
    #[expect(clippy::cast_sign_loss, reason = "`high` is not negative")]
    pub(in crate::import) const fn above(self) -> u64 {
        (self.high as u64).wrapping_add(1)
    }
}
