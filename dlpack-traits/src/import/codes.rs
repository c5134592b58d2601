//! Elements of any type as the bits that they are: [`Codes`].

use core::iter::FusedIterator;

use super::Imported;
use crate::describe::stored_bits;
use crate::error::Error;
use crate::flags::Flags;
use crate::layout::Walk;
use crate::storage::Access;

/// The elements of an imported tensor as numbers that hold their bits, for
/// types that Rust has no type for: floats of 8, 6 and 4 bits, integers of 1, 2
/// and 4, packed into bytes or padded to them: [`Imported::codes`].
///
/// They are copied out, as [`Elements`](crate::Elements) are.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    tensor: &'a Imported,
    access: Access,
    /// Bits of an element.
    bits: u32,
    /// Bits that it takes in memory.
    stored: i64,
}

impl Imported {
    /// The bits of the elements, to be read by value: in the lowest bits of a
    /// number each, the others being 0. Of an element with lanes the first lane
    /// is the lowest. Bits of packed elements are counted from the lowest of the
    /// first byte on, as the standard says.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, DataType, Describe, Description, Error, Storage};
    ///
    /// /// Five floats of four bits.
    /// struct Weights([u8; 3]);
    ///
    /// impl DLPackExport for Weights {
    ///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
    ///         out.shape(&[5]).dtype(DataType::FLOAT4_E2M1FN).data(self.0.data())
    ///     }
    /// }
    ///
    /// let tensor = Weights([0x21, 0x43, 0xf5]).into_dlpack()?.import()?;
    /// assert_eq!(tensor.codes()?.iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::TooWide`] for elements of more than 64 bits
    /// with all lanes, [`Error::UnsupportedDType`] for those of a later version.
    pub fn codes(&self) -> Result<Codes<'_>, Error> {
        let dtype = self.dtype();
        self.on_host()?;
        if !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let bits = dtype.element_bits();
        if bits > u64::BITS {
            return Err(Error::TooWide { dtype });
        }
        let stored = stored_bits(dtype, self.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED));
        Ok(Codes { tensor: self, access: self.access(), bits, stored })
    }
}

impl<'a> Codes<'a> {
    /// Extents.
    pub fn shape(&self) -> &'a [i64] {
        self.tensor.shape()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        // Their bytes fit in memory, but of 1 bit there can be more of them
        // than a `usize` of 32 bits says.
        usize::try_from(self.tensor.numel()).unwrap_or(usize::MAX)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bits of each code.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Reads the bits of one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index has not one entry per dimension,
    /// or one that is outside.
    pub fn load(&self, index: &[usize]) -> Result<u64, Error> {
        let position = self.tensor.position(index)?;
        // SAFETY: it is that of an index inside of the shape.
        Ok(unsafe { self.load_at(position) })
    }

    /// All elements in row-major order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + FusedIterator + use<'a> {
        let walk = Walk::new(self.tensor.shape(), self.tensor.strides());
        Iter { codes: *self, walk, left: self.len() }
    }

    /// Reads the element that many elements from the first one.
    ///
    /// # Safety
    ///
    /// 1. `position` is that of an index inside of the shape.
    unsafe fn load_at(&self, position: i64) -> u64 {
        // The bytes fit in memory, and so do their bits in 128.
        let bit = i128::from(position).wrapping_mul(self.stored.into());
        let skipped = u32::try_from(bit & 7).unwrap_or(0);
        let byte = isize::try_from(bit >> 3).unwrap_or(0);
        let len = skipped.saturating_add(self.bits).div_ceil(8);
        let mut bytes = [0; 16];
        // At most 7 bits are skipped, and 64 read.
        let (to, _) = bytes.split_at_mut(len.min(9) as usize);
        // SAFETY: by 1 and by 4 of `Imported::from_raw` an element of the same
        // allocation begins in that byte.
        let place = unsafe { self.tensor.as_ptr().cast_mut().offset(byte) };
        // SAFETY: 1. By 4 of `Imported::from_raw` the bytes of the element are initialised and
        // alive, and they are lent with this access, or 5 of `from_raw` says as much. 2. `to`
        // is our own.
        unsafe { self.access.copy(place, to.as_mut_ptr(), to.len()) };
        self.in_order(to);
        let code = u128::from_le_bytes(bytes).wrapping_shr(skipped);
        let unused = u64::BITS.saturating_sub(self.bits);
        #[expect(clippy::cast_possible_truncation, reason = "there are no more bits than these")]
        let code = code as u64;
        code.wrapping_shl(unused).wrapping_shr(unused)
    }

    /// Turns lanes of several bytes round where the machine has the highest first.
    fn in_order(&self, bytes: &mut [u8]) {
        let lane = usize::from(self.tensor.dtype().bits() / 8);
        if cfg!(target_endian = "big") && lane > 1 {
            bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
        }
    }
}

/// Reads one element after the other.
struct Iter<'a> {
    codes: Codes<'a>,
    walk: Walk<'a>,
    left: usize,
}

impl Iterator for Iter<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        // SAFETY: the walk visits as many indices as there are elements, all
        // of them inside of the shape.
        let code = unsafe { self.codes.load_at(self.walk.position()) };
        self.walk.advance();
        Some(code)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}
impl FusedIterator for Iter<'_> {}
