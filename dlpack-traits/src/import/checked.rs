//! What a foreign struct claims, and what of that can be checked without
//! touching its memory. Plain data in, plain data out.

use super::ImportPolicy;
use super::axes::Axes;
use crate::describe::stored_bits;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::flags::Flags;
use crate::layout::{self, Extent};
use crate::version::Version;

/// A copy of everything that a foreign struct says, but for its arrays.
#[derive(Debug)]
pub(super) struct Claims {
    /// `None` for the legacy struct.
    pub(super) version: Option<Version>,
    pub(super) flags: Flags,
    pub(super) data: *mut u8,
    pub(super) byte_offset: u64,
    pub(super) device: Device,
    pub(super) dtype: DataType,
    /// Whether the strides are not NULL.
    pub(super) has_strides: bool,
}

/// Claims that agree with each other, and with an address space.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) version: Option<Version>,
    pub(super) flags: Flags,
    /// Whether consumers must not write: READ_ONLY is set, or the struct is a legacy one,
    /// which cannot say it, and the policy does not allow writes to its memory.
    pub(super) read_only: bool,
    /// The first element, or the handle; NULL where addresses have no elements.
    pub(super) first: *mut u8,
    /// From the handle to the first element; 0 where `first` is an address.
    pub(super) byte_offset: u64,
    pub(super) device: Device,
    pub(super) dtype: DataType,
    pub(super) axes: Axes,
    pub(super) numel: i64,
    /// The lowest byte of an element, and one past the highest, counted from
    /// the first byte of the first element. Both 0 without elements.
    pub(super) bytes: (isize, isize),
}

/// Where the elements are: what is computed of claims.
struct Place {
    first: *mut u8,
    byte_offset: u64,
    numel: i64,
    bytes: (isize, isize),
}

impl Checked {
    /// The place for what is yet to be read. Not a constant: that would be copied
    /// from where it is, and nearly all of it is zeros.
    #[inline(always)]
    pub(super) const fn nothing() -> Self {
        Self {
            version: None,
            flags: Flags::NONE,
            read_only: true,
            first: core::ptr::null_mut(),
            byte_offset: 0,
            device: Device::CPU,
            dtype: DataType::U8,
            axes: Axes::none(),
            numel: 0,
            bytes: (0, 0),
        }
    }

    /// Checks claims, whose arrays were copied into [`axes`](Self::axes).
    #[inline(always)]
    pub(super) fn check(&mut self, claims: &Claims, policy: ImportPolicy) -> Result<(), Error> {
        let place = match self.common(claims) {
            Some(place) => place,
            None => self.place(claims, policy)?,
        };
        (self.version, self.flags) = (claims.version, claims.flags);
        self.read_only = match claims.version {
            Some(_) => claims.flags.contains(Flags::READ_ONLY),
            None => !policy.allows_legacy_writes(),
        };
        (self.device, self.dtype) = (claims.device, claims.dtype);
        (self.first, self.byte_offset) = (place.first, place.byte_offset);
        (self.numel, self.bytes) = (place.numel, place.bytes);
        Ok(())
    }

    /// The place of what nearly every tensor is: compact, of whole bytes, at an address.
    /// `None` leaves it to [`place`](Self::place), which also knows what to call an error.
    #[inline(always)]
    fn common(&self, claims: &Claims) -> Option<Place> {
        let bits = i64::from(claims.dtype.bits());
        let simple = claims.has_strides
            && claims.dtype.is_well_formed()
            && claims.dtype.lanes() == 1
            && claims.device.has_addresses()
            && bits % 8 == 0
            && !claims.data.is_null();
        if !simple {
            return None;
        }
        let numel = self.axes.compact()?;
        let end = isize::try_from(numel.checked_mul(bits >> 3)?).ok()?;
        // `data` and the last byte are in one allocation, and no address in it wraps.
        let byte_offset = isize::try_from(claims.byte_offset).ok()?;
        let reach = byte_offset.checked_add(end)?;
        claims.data.addr().checked_add(reach.unsigned_abs())?;
        let first = claims.data.wrapping_offset(byte_offset);
        Some(Place { first, byte_offset: 0, numel, bytes: (0, end) })
    }

    /// The place of any tensor.
    #[inline(never)]
    fn place(&mut self, claims: &Claims, policy: ImportPolicy) -> Result<Place, Error> {
        let Claims { version, flags, data, byte_offset, device, dtype, has_strides } = *claims;
        check_dtype(dtype, version)?;
        if !device.is_well_formed() {
            return Err(Error::NoSuchDevice { device });
        }
        let numel = layout::numel(self.axes.shape())?;
        if !has_strides {
            if !policy.allows_null_strides(version) {
                return Err(Error::NullStrides { ndim: self.axes.shape().len() });
            }
            self.axes.fill_strides();
        }
        // Both have `ndim` entries.
        let some = numel != 0;
        let extent = || layout::extent_of_some(self.axes.shape(), self.axes.strides());
        let extent = some.then(extent).transpose()?;
        let bits = stored_bits(dtype, flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED));
        let bytes = byte_span(extent, bits, numel)?;
        let (first, byte_offset) = if !device.has_addresses() {
            let distance = distance(byte_offset, bytes)?;
            if distance.saturating_add(bytes.0) < 0 {
                return Err(Error::SizeOverflow);
            }
            (data, byte_offset)
        } else if numel == 0 {
            (core::ptr::null_mut(), 0)
        } else if data.is_null() {
            return Err(Error::NullData);
        } else {
            let first = data.wrapping_offset(distance(byte_offset, bytes)?);
            check_addresses(data.addr(), first.addr(), bytes)?;
            (first, 0)
        };
        Ok(Place { first, byte_offset, numel, bytes })
    }
}

/// Whether elements of this type have a size that we know.
///
/// A later minor version may add families. Their tensors can be passed around;
/// a typed view of them cannot be had.
#[inline(always)]
fn check_dtype(dtype: DataType, version: Option<Version>) -> Result<(), Error> {
    let from_later = version.is_some_and(|version| version > Version::CURRENT)
        && dtype.code() > ffi::kDLFloat4_e2m1fn
        && dtype.element_bits() != 0;
    if dtype.is_well_formed() || from_later {
        Ok(())
    } else {
        Err(Error::UnsupportedDType { dtype })
    }
}

/// The bytes that hold elements, if they and all elements together fit in an
/// address space.
#[inline(always)]
fn byte_span(extent: Option<Extent>, bits: i64, numel: i64) -> Result<(isize, isize), Error> {
    let Some(Extent { low, high }) = extent else { return Ok((0, 0)) };
    if let Some(span) = whole_bytes(low, high, bits, numel) {
        return Ok(span);
    }
    // An element has less than 2^24 bits, so nothing here saturates.
    let bits = i128::from(bits);
    let byte = |bits: i128| isize::try_from(bits >> 3).map_err(|_| Error::SizeOverflow);
    byte(i128::from(numel).saturating_mul(bits).saturating_add(7))?;
    let start = byte(i128::from(low).saturating_mul(bits))?;
    let end = i128::from(high).saturating_add(1).saturating_mul(bits);
    let end = byte(end.saturating_add(7))?;
    end.checked_sub(start).ok_or(Error::SizeOverflow)?;
    Ok((start, end))
}

/// [`byte_span`] where elements are whole bytes, and all is well.
#[inline(always)]
fn whole_bytes(low: i64, high: i64, bits: i64, numel: i64) -> Option<(isize, isize)> {
    if bits & 7 != 0 {
        return None;
    }
    let size = bits >> 3;
    let _fits: isize = numel.checked_mul(size)?.try_into().ok()?;
    let start: isize = low.checked_mul(size)?.try_into().ok()?;
    let end: isize = high.checked_add(1)?.checked_mul(size)?.try_into().ok()?;
    end.checked_sub(start)?;
    Some((start, end))
}

/// The distance in bytes from `data` to the first element.
///
/// `data` and all elements belong to one allocation or object, and none has more than
/// `isize::MAX` bytes. A larger distance is an error, to the first element or to the end.
#[inline(always)]
fn distance(byte_offset: u64, (_, end): (isize, isize)) -> Result<isize, Error> {
    let distance = isize::try_from(byte_offset).map_err(|_| Error::SizeOverflow)?;
    distance.checked_add(end).ok_or(Error::SizeOverflow)?;
    Ok(distance)
}

/// Checks that no address between `data` and the bytes of the elements wraps, and that
/// no element is at address 0.
#[inline(always)]
fn check_addresses(data: usize, first: usize, (start, end): (isize, isize)) -> Result<(), Error> {
    let inside = first >= data
        && start.unsigned_abs() < first
        && first.checked_add(end.unsigned_abs()).is_some();
    if inside { Ok(()) } else { Err(Error::SizeOverflow) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{DLDeviceType, kDLExtDev, kDLVulkan};

    /// Claims about elements at an address, and the arrays beside them.
    fn claimed(dtype: DataType, shape: &[i64], strides: &[i64]) -> (Claims, Checked) {
        let mut checked = Checked::nothing();
        let (ours, theirs) = checked.axes.room(shape.len()).expect("room");
        ours.copy_from_slice(shape);
        theirs.copy_from_slice(strides);
        let claims = Claims {
            version: Some(Version::CURRENT),
            flags: Flags::NONE,
            data: core::ptr::without_provenance_mut(0x1000),
            byte_offset: 0,
            device: Device::CPU,
            dtype,
            has_strides: true,
        };
        (claims, checked)
    }

    /// That the short way has an answer, which is then that of the long one.
    fn is_common(claims: &Claims, checked: &mut Checked) -> bool {
        let Some(common) = checked.common(claims) else { return false };
        let place = checked.place(claims, ImportPolicy::default()).expect("also common");
        assert_eq!((common.first, common.byte_offset), (place.first, place.byte_offset));
        assert_eq!((common.numel, common.bytes), (place.numel, place.bytes));
        true
    }

    fn common(dtype: DataType, shape: &[i64], strides: &[i64]) -> bool {
        let (claims, mut checked) = claimed(dtype, shape, strides);
        is_common(&claims, &mut checked)
    }

    #[test]
    fn compact_tensors_are_common() {
        for dtype in [DataType::U8, DataType::BF16, DataType::F32, DataType::COMPLEX128] {
            assert!(common(dtype, &[], &[]));
            assert!(common(dtype, &[6], &[1]));
            assert!(common(dtype, &[2, 3], &[3, 1]));
            assert!(common(dtype, &[1, 3, 1], &[-9, 1, i64::MIN]));
            assert!(common(dtype, &[1, 1, 1, 1, 1, 1, 2, 3], &[6, 6, 6, 6, 6, 6, 3, 1]));
            assert!(common(dtype, &[2, 1, 1, 1, 1, 1, 1, 1, 3], &[3, 3, 3, 3, 3, 3, 3, 3, 1]));
            // And of these there is more to say.
            assert!(!common(dtype, &[2, 3], &[1, 2]));
            assert!(!common(dtype, &[6], &[2]));
            assert!(!common(dtype, &[6], &[-1]));
            assert!(!common(dtype, &[0], &[1]));
            assert!(!common(dtype, &[-1], &[1]));
            assert!(!common(dtype, &[1 << 32, 1 << 31], &[1 << 31, 1]));
        }
        assert!(common(DataType::U8, &[i64::MAX - 0x2000], &[1]));
        assert!(!common(DataType::FLOAT4_E2M1FN, &[6], &[1]));
        assert!(!common(DataType::F32.with_lanes(4), &[6], &[1]));
        assert!(!common(DataType::U16, &[i64::MAX / 2 + 1], &[1]));
    }

    #[test]
    fn only_compact_tensors_at_addresses_are_common() {
        type Change = fn(&mut Claims);
        let rules: [(bool, Change); 13] = [
            (true, |claims| claims.byte_offset = 8),
            (true, |claims| claims.device = Device::cuda(1)),
            (true, |claims| claims.version = None),
            (false, |claims| claims.has_strides = false),
            (false, |claims| claims.data = core::ptr::null_mut()),
            (false, |claims| claims.device = Device::new(kDLVulkan, 0)),
            (false, |claims| claims.device = Device::new(kDLExtDev, 0)),
            (false, |claims| claims.byte_offset = u64::MAX),
            (false, |claims| claims.byte_offset = u64::MAX - 0x1000 - 8),
            (false, |claims| claims.byte_offset = 1 << 63),
            (true, |claims| claims.byte_offset = (1 << 63) - 25),
            (false, |claims| claims.byte_offset = (1 << 63) - 24),
            (false, |claims| claims.device = Device::new(DLDeviceType(0), 0)),
        ];
        for (number, (expected, change)) in rules.into_iter().enumerate() {
            let (mut claims, mut checked) = claimed(DataType::F32, &[2, 3], &[3, 1]);
            change(&mut claims);
            assert_eq!(is_common(&claims, &mut checked), expected, "rule {number}");
        }
    }

    #[test]
    fn whole_bytes_are_multiplied() {
        assert_eq!(whole_bytes(-2, 3, 32, 6), Some((-8, 16)));
        assert_eq!(whole_bytes(0, 5, 8, 6), Some((0, 6)));
        assert_eq!(whole_bytes(0, 5, 4, 6), None);
        assert_eq!(whole_bytes(0, 5, 12, 6), None);
        assert_eq!(whole_bytes(0, i64::MAX, 8, 1), None);
        assert_eq!(whole_bytes(i64::MIN, 0, 8, 1), None);
        assert_eq!(whole_bytes(0, 0, 16, i64::MAX), None);
    }
}
