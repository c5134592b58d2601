//! The validation of a foreign tensor that needs no access to its memory: [`Metadata`]. Pure
//! functions on plain data. `raw` rejects other versions and NULL pointers in the struct,
//! `imported` a NULL struct. Alignment is checked where elements are accessed:
//! `alignment::alignment`, `import::elements::typed`.

use super::raw::{ElementRange, RawMetadata};
use crate::describe::{all_fit, stored_bits};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi::DLPACK_MAJOR_VERSION;
use crate::flags::Flags;
use crate::import::ImportPolicy;
use crate::storage::Access;
use crate::strides::{self, Extent};
use crate::version::Version;

/// The metadata of a tensor without its shape and strides. They are consistent with each other and
/// with these, and fit in the address space.
pub(in crate::import) struct Metadata {
    /// The minor version; `None` for the legacy struct.
    pub(in crate::import) minor: Option<u32>,
    pub(in crate::import) flags: Flags,
    /// The access to the elements. If this crate exported the tensor, and it has not passed through
    /// C, this is the access of the export, which `from_own` stores here. Otherwise it is that of
    /// foreign memory, whose producer is trusted to the extent of 5 of `from_raw`. It is read-only
    /// if READ_ONLY is set, or if the struct is a legacy one, which has no flags, and the policy does
    /// not allow writes to its memory.
    pub(in crate::import) access: Access,
    pub(in crate::import) device: Device,
    pub(in crate::import) dtype: DataType,
    pub(in crate::import) place: Place,
}

/// Where the elements are, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Place {
    /// The address of the first element; on a device without addresses, the handle. NULL if the
    /// tensor is empty.
    pub(in crate::import) first: *mut u8,
    /// Bytes from the handle to the first element; 0 if `first` is an address.
    pub(in crate::import) byte_offset: u64,
    pub(in crate::import) numel: i64,
    /// The lowest byte of an element, and one past the highest, counted from the first byte
    /// of the first element. Both are 0 if the tensor is empty.
    pub(in crate::import) bytes: (isize, isize),
}

impl Metadata {
    /// The metadata of a tensor whose elements are in `place`.
    #[inline(always)]
    pub(in crate::import) fn new(claims: RawMetadata, policy: ImportPolicy, place: Place) -> Self {
        let RawMetadata { version, flags, device, dtype, .. } = claims;
        let access = match version {
            Some(_) if flags.contains(Flags::READ_ONLY) => Access::ForeignReadOnly,
            None if !policy.allows_legacy_writes() => Access::ForeignReadOnly,
            _ => Access::Shared,
        };
        let minor = version.map(|version| version.minor);
        Self { minor, flags, access, device, dtype, place }
    }

    /// Changes a handle with an offset to the address of the first element, on the CPU.
    ///
    /// # Errors
    ///
    /// [`Error::SizeOverflow`].
    pub(in crate::import) fn set_host(&mut self) -> Result<(), Error> {
        let Place { first, byte_offset, bytes, .. } = self.place;
        if self.place.numel != 0 {
            let at = first.wrapping_offset(distance(byte_offset, bytes)?);
            check_addresses(first.addr(), at.addr(), bytes)?;
            self.place = Place { first: at, byte_offset: 0, ..self.place };
        }
        self.device = Device::CPU;
        Ok(())
    }

    /// The metadata of a view. All of its elements are elements of this tensor. Unless it is empty,
    /// the first one is `offset` units of stride after the first one of this tensor.
    ///
    /// # Errors
    ///
    /// [`Error::InsideByte`] if that is not a whole number of bytes.
    pub(in crate::import) fn part(
        &self,
        shape: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Self, Error> {
        let &Self { minor, flags, access, device, dtype, place } = self;
        let (low, _) = place.bytes;
        // An address from which no element is below, so that offsets are not negative.
        let (data, before) = if device.has_addresses() {
            (place.first.wrapping_offset(low), i128::try_from(low).unwrap_or(0))
        } else {
            (place.first, i128::from(place.byte_offset).wrapping_neg())
        };
        let padded = flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED);
        let bits = stored_bits(dtype, padded);
        // The numbers of elements and of bits fit in 64 and 24 bits.
        let offset = if shape.contains(&0) { 0 } else { i128::from(offset) };
        let offset = offset.wrapping_mul(bits.into());
        if offset & 7 != 0 {
            return Err(Error::InsideByte { dtype });
        }
        let byte_offset = (offset >> 3).wrapping_sub(before);
        let byte_offset = u64::try_from(byte_offset).map_err(|_| Error::SizeOverflow)?;
        let version = minor.map(|minor| Version::new(DLPACK_MAJOR_VERSION, minor));
        let claims = RawMetadata { version, flags, data, byte_offset, device, dtype };
        let place = Place::exact(&claims, shape, strides, true)?;
        Ok(Self { minor, flags, access, device, dtype, place })
    }
}

impl Place {
    /// Number of bytes of all elements, as of a contiguous copy.
    #[inline(always)]
    pub(in crate::import) fn nbytes(&self, dtype: DataType, flags: Flags) -> u64 {
        let padded = flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED);
        let bits = stored_bits(dtype, padded);
        // `fast` and `exact` have checked that they fit: less than 2^63 bytes, so less than 2^66 bits.
        let bits = i128::from(self.numel).wrapping_mul(bits.into()).wrapping_add(7);
        u64::try_from(bits >> 3).unwrap_or(u64::MAX)
    }

    /// The fast path, for nearly every tensor: fewer than 2^40 elements, at least one, of
    /// whole bytes, at an address. `None` does not mean that the tensor is invalid.
    ///
    /// One comparison limits all numbers at once, so that no later sum or product needs a
    /// check for overflow.
    #[inline(always)]
    pub(in crate::import) fn fast(
        claims: &RawMetadata,
        numel: i64,
        reach: ElementRange,
    ) -> Option<Self> {
        let &RawMetadata { data, byte_offset, device, dtype, .. } = claims;
        let size = dtype.whole_bytes()?.size as u64;
        if !device.has_addresses() {
            return None;
        }
        let (below, above) = (reach.below(), reach.above());
        #[expect(clippy::cast_sign_loss, reason = "there is at least one")]
        let numel_unsigned = numel as u64;
        let address = data.addr() as u64;
        if (below | above | numel_unsigned) >> 40 != 0 || (address | byte_offset) >> 61 != 0 {
            return None;
        }
        // Nothing wraps: an element has less than 2^21 bytes, so the products are less than
        // 2^61, and the sums less than 2^63.
        let [below, above, all] =
            [below, above, numel_unsigned].map(|elements| elements.wrapping_mul(size));
        let span = below.wrapping_add(above);
        let end = byte_offset.wrapping_add(above);
        let last = address.wrapping_add(end);
        // Where addresses have 64 bits, the limits above are stricter.
        if usize::BITS < 64 {
            // `data` and the last byte are in one allocation, and no address in it wraps.
            // The elements of a broadcast tensor have more bytes in total than they span.
            let most = isize::MAX.unsigned_abs() as u64;
            if end > most || span > most || all > most || last > usize::MAX as u64 {
                return None;
            }
        }
        // `data` is not NULL, and no element is at address 0. It may be none either if the offset is
        // added to the address, which the slow path does.
        if below >= address {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the offset is less than `end`")]
        let first = data.wrapping_add(byte_offset as usize);
        #[expect(clippy::cast_possible_truncation, reason = "both are at most `isize::MAX`")]
        let (below, above) = (below as usize, above as usize);
        let bytes = (0_isize.wrapping_sub_unsigned(below), 0_isize.wrapping_add_unsigned(above));
        Some(Self { first, byte_offset: 0, numel, bytes })
    }

    /// The slow path, for every tensor, in numbers that cannot overflow.
    pub(in crate::import) fn exact(
        claims: &RawMetadata,
        shape: &[i64],
        strides: &[i64],
        null_strides_allowed: bool,
    ) -> Result<Self, Error> {
        let &RawMetadata { version, flags, data, byte_offset, device, dtype } = claims;
        check_dtype(dtype, version)?;
        if !device.is_well_formed() {
            return Err(Error::NoSuchDevice { device });
        }
        let numel = strides::numel(shape)?;
        if !null_strides_allowed {
            return Err(Error::NullStrides { ndim: shape.len() });
        }
        // Both have `ndim` entries.
        let some = numel != 0;
        let extent = some.then(|| strides::extent_of_some(shape, strides)).transpose()?;
        let bits = stored_bits(dtype, flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED));
        let bytes = byte_span(extent, bits, numel)?;
        let (first, byte_offset) = if numel == 0 {
            (core::ptr::null_mut(), 0)
        } else if !device.has_addresses() {
            let distance = distance(byte_offset, bytes)?;
            if distance.saturating_add(bytes.0) < 0 {
                return Err(Error::SizeOverflow);
            }
            (data, byte_offset)
        } else if data.is_null() {
            return Err(Error::NullData);
        } else {
            let first = data.wrapping_offset(distance(byte_offset, bytes)?);
            check_addresses(data.addr(), first.addr(), bytes)?;
            (first, 0)
        };
        Ok(Self { first, byte_offset, numel, bytes })
    }
}

/// Checks that elements of this type have a known size.
///
/// A later minor version may add type codes. Tensors of such a type can be passed on, but
/// not accessed as a Rust type.
fn check_dtype(dtype: DataType, version: Option<Version>) -> Result<(), Error> {
    let from_later = version.is_some_and(|version| version > Version::CURRENT)
        && dtype.code() > DataType::LAST_CODE
        && dtype.element_bits() != 0;
    if dtype.is_well_formed() || from_later {
        Ok(())
    } else {
        Err(Error::UnsupportedDType { dtype })
    }
}

/// Returns the range of bytes that contains the elements, if the range, and all elements
/// together, fit in an address space.
fn byte_span(extent: Option<Extent>, bits: i64, numel: i64) -> Result<(isize, isize), Error> {
    let Some(Extent { low, high }) = extent else { return Ok((0, 0)) };
    all_fit(numel, bits)?;
    // An element has less than 2^24 bits, so nothing here saturates.
    let bits = i128::from(bits);
    let byte = |bits: i128| isize::try_from(bits >> 3).map_err(|_| Error::SizeOverflow);
    let start = byte(i128::from(low).saturating_mul(bits))?;
    let end = i128::from(high).saturating_add(1).saturating_mul(bits);
    let end = byte(end.saturating_add(7))?;
    end.checked_sub(start).ok_or(Error::SizeOverflow)?;
    Ok((start, end))
}

/// Returns the distance in bytes from `data` to the first element.
///
/// `data` and all elements belong to one allocation or object, of at most `isize::MAX`
/// bytes. A larger distance, to the first element or to the end, is an error.
fn distance(byte_offset: u64, (_, end): (isize, isize)) -> Result<isize, Error> {
    let distance = isize::try_from(byte_offset).map_err(|_| Error::SizeOverflow)?;
    distance.checked_add(end).ok_or(Error::SizeOverflow)?;
    Ok(distance)
}

/// Checks that no address between `data` and the bytes of the elements wraps, and that
/// no element is at address 0.
fn check_addresses(data: usize, first: usize, (start, end): (isize, isize)) -> Result<(), Error> {
    let inside = first >= data
        && start.unsigned_abs() < first
        && first.checked_add(end.unsigned_abs()).is_some();
    if inside { Ok(()) } else { Err(Error::SizeOverflow) }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::mem::MaybeUninit;

    use super::*;
    use crate::ffi::{DLDeviceType, kDLExtDev, kDLVulkan};
    use crate::import::reader::raw;
    use crate::import::reader::raw::RawLists;

    /// Half of all addresses: more than any allocation has.
    const HALF: u64 = 1 << (usize::BITS - 1);

    /// What is claimed of a tensor, with its lists.
    #[derive(Clone, Copy)]
    struct Claimed<'a>(RawMetadata, RawLists<'a>);

    fn claimed<'a>(dtype: DataType, shape: &'a [i64], strides: &'a [i64]) -> Claimed<'a> {
        let claims = RawMetadata {
            version: Some(Version::CURRENT),
            flags: Flags::NONE,
            data: core::ptr::without_provenance_mut(0x1000),
            byte_offset: 0,
            device: Device::CPU,
            dtype,
        };
        Claimed(claims, RawLists { shape, strides: Some(strides) })
    }

    fn exact(Claimed(claims, lists): Claimed<'_>) -> Result<Place, Error> {
        let mut list = vec![0; lists.numbers()];
        let (shape, strides) = raw::copy_any(&mut list, lists);
        Place::exact(&claims, shape, strides, true)
    }

    /// Returns whether the fast path accepts a tensor. If so, asserts that the slow path gives the
    /// same result.
    fn takes_fast_path(claimed: Claimed<'_>) -> bool {
        let Claimed(claims, lists) = claimed;
        let mut list = vec![MaybeUninit::uninit(); lists.numbers()];
        let reached = raw::copy_lists(&mut list, lists);
        let place = reached.and_then(|(numel, reach)| Place::fast(&claims, numel, reach));
        let Some(place) = place else { return false };
        assert_eq!(Ok(place), exact(claimed));
        // SAFETY: `copy_lists` has written all numbers, because it returned a number of elements.
        let copied: Vec<_> = list.iter().map(|number| unsafe { number.assume_init() }).collect();
        let mut expected = vec![0; copied.len()];
        raw::copy_any(&mut expected, lists);
        assert_eq!(copied, expected);
        true
    }

    fn is_fast(dtype: DataType, shape: &[i64], strides: &[i64]) -> bool {
        takes_fast_path(claimed(dtype, shape, strides))
    }

    #[test]
    fn strided_tensors_of_whole_bytes_take_the_fast_path() {
        for dtype in [DataType::U8, DataType::BF16, DataType::F32, DataType::COMPLEX128] {
            assert!(is_fast(dtype, &[], &[]));
            assert!(is_fast(dtype, &[6], &[1]));
            assert!(is_fast(dtype, &[2, 3], &[3, 1]));
            assert!(is_fast(dtype, &[1, 3, 1], &[-9, 1, i64::MIN]));
            assert!(is_fast(dtype, &[1, 1, 1, 1, 1, 1, 2, 3], &[6, 6, 6, 6, 6, 6, 3, 1]));
            assert!(is_fast(dtype, &[2, 3], &[1, 2]));
            assert!(is_fast(dtype, &[6], &[2]));
            assert!(is_fast(dtype, &[6], &[-1]));
            assert!(is_fast(dtype, &[6, 2], &[0, 1]));
            assert!(is_fast(dtype, &[2, 1, 1, 1, 1, 1, 1, 1, 3], &[3, 3, 3, 3, 3, 3, 3, 3, 1]));
            assert!(!is_fast(dtype, &[1, 1, 1, 1, 1, 1, 1, 0, 3], &[3, 3, 3, 3, 3, 3, 3, 3, 1]));
            assert!(!is_fast(dtype, &[0], &[1]));
            assert!(!is_fast(dtype, &[-1], &[1]));
            assert!(!is_fast(dtype, &[6], &[i64::MAX]));
            assert!(!is_fast(dtype, &[6], &[-0x1000]), "below address 0");
            assert!(!is_fast(dtype, &[1 << 32, 1 << 31], &[1 << 31, 1]));
            assert!(!is_fast(dtype, &[1 << 32, 1 << 31], &[0, 0]));
        }
        let many = (isize::MAX as i64 - 0x2000).min((1 << 40) - 1);
        assert!(is_fast(DataType::U8, &[many], &[1]));
        assert!(!is_fast(DataType::U8, &[many, 2], &[0, 1]));
        assert!(!is_fast(DataType::U8, &[1 << 40], &[1]));
        assert!(is_fast(DataType::F32.with_lanes(4), &[6], &[1]));
        assert!(!is_fast(DataType::FLOAT4_E2M1FN, &[6], &[1]));
        assert!(!is_fast(DataType::U16, &[i64::MAX / 2 + 1], &[1]));
        assert!(is_fast(DataType::U8, &[0x1000], &[-1]));
        assert!(!is_fast(DataType::U8, &[0x1001], &[-1]), "an element at address 0");
    }

    #[test]
    fn only_tensors_at_addresses_take_the_fast_path() {
        /// The largest offset of 24 bytes on the fast path.
        const MOST: u64 = if usize::BITS < 64 { HALF - 25 } else { (1 << 61) - 1 };
        type Change = fn(&mut Claimed<'_>);
        let rules: [(bool, Change); 13] = [
            (true, |claimed| claimed.0.byte_offset = 8),
            (true, |claimed| claimed.0.device = Device::cuda(1)),
            (true, |claimed| claimed.0.version = None),
            (true, |claimed| claimed.1.strides = None),
            (false, |claimed| claimed.0.data = core::ptr::null_mut()),
            (false, |claimed| claimed.0.device = Device::new(kDLVulkan, 0)),
            (false, |claimed| claimed.0.device = Device::new(kDLExtDev, 0)),
            (false, |claimed| claimed.0.byte_offset = u64::MAX),
            (false, |claimed| claimed.0.byte_offset = u64::MAX - 0x1000 - 8),
            (false, |claimed| claimed.0.byte_offset = 1 << 63),
            (true, |claimed| claimed.0.byte_offset = MOST),
            (false, |claimed| claimed.0.byte_offset = MOST + 1),
            (false, |claimed| claimed.0.device = Device::new(DLDeviceType(0), 0)),
        ];
        for (number, (expected, change)) in rules.into_iter().enumerate() {
            let mut claimed = claimed(DataType::F32, &[2, 3], &[3, 1]);
            change(&mut claimed);
            assert_eq!(takes_fast_path(claimed), expected, "rule {number}");
        }
    }

    #[test]
    fn the_offset_of_a_tensor_without_elements_says_nothing() {
        for device in [Device::CPU, Device::new(kDLVulkan, 0), Device::new(kDLExtDev, 0)] {
            for byte_offset in [8, 1 << 63, u64::MAX] {
                let mut claimed = claimed(DataType::F32, &[0, 3], &[3, 1]);
                (claimed.0.device, claimed.0.byte_offset) = (device, byte_offset);
                let place = exact(claimed).unwrap();
                assert!(place.first.is_null());
                assert_eq!((place.byte_offset, place.numel, place.bytes), (0, 0, (0, 0)));
            }
        }
    }

    /// With the offset no element is at address 0, which only the slow path takes into account.
    #[test]
    fn elements_below_address_0_without_the_offset_take_the_slow_path() {
        let mut claimed = claimed(DataType::U8, &[0x1001], &[-1]);
        claimed.0.byte_offset = 0x1000;
        assert!(!takes_fast_path(claimed));
        assert_eq!(exact(claimed).map(|place| place.bytes), Ok((-0x1000, 1)));
    }

    #[test]
    fn tensors_beyond_the_fast_path_are_validated_exactly() {
        let check = |byte_offset, dim| {
            let (shape, strides) = ([dim], [1]);
            let mut claimed = claimed(DataType::U8, &shape, &strides);
            claimed.0.byte_offset = byte_offset;
            exact(claimed).map(|place| place.bytes.1)
        };
        assert_eq!(check(HALF - 25, 24), Ok(24));
        assert_eq!(check(HALF - 24, 24), Err(Error::SizeOverflow));
        let most = isize::MAX as i64 - 0x1000;
        assert_eq!(check(0, most), Ok(isize::MAX - 0x1000));
        assert_eq!(check(0x1000, most), Ok(isize::MAX - 0x1000));
        assert_eq!(check(0x1001, most), Err(Error::SizeOverflow));
    }

    #[test]
    fn a_handle_with_an_offset_becomes_the_address_of_the_first_element() {
        for (dims, first) in [([2, 3], 0x1008), ([2, 0], 0)] {
            let mut claimed = claimed(DataType::F32, &dims, &[3, 1]);
            (claimed.0.device, claimed.0.byte_offset) = (Device::new(kDLVulkan, 0), 8);
            let place = exact(claimed).unwrap();
            let mut metadata = Metadata::new(claimed.0, ImportPolicy::default(), place);
            assert_eq!(metadata.set_host(), Ok(()));
            assert_eq!(metadata.device, Device::CPU);
            let found = metadata.place;
            assert_eq!((found.first.addr(), found.byte_offset), (first, 0));
            assert_eq!((found.numel, found.bytes), (place.numel, place.bytes));
        }
    }
}
