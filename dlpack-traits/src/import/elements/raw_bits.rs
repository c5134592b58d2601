//! The bit patterns of elements of any type: [`RawBits`].
//!
//! Rust has no types for floats of 8, 6 and 4 bits. Crates that define such types can
//! convert these bits.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use crate::copy::Part;
use crate::describe::stored_bits;
use crate::error::Error;
use crate::flags::Flags;
use crate::import::ImportedTensor;
use crate::strides;

/// The elements of an imported tensor as integers that contain their bits:
/// [`ImportedTensor::raw_bits`]. Use it for types that have no Rust equivalent: floats of 8, 6 and 4
/// bits, and integers of 1, 2 and 4 bits, packed into bytes or padded to one byte each.
///
/// The bits are read by value, as [`Elements`](crate::Elements) are.
#[derive(Clone, Copy, Debug)]
pub struct RawBits<'a> {
    tensor: &'a ImportedTensor,
    /// Bits of an element.
    bits: u32,
    /// Bits that an element occupies in memory.
    stored: i64,
}

impl ImportedTensor {
    /// The bits of the elements, read by value. The lowest bits of each number contain the
    /// element; the others are 0. In an element with lanes, the first lane is the lowest.
    /// Bits of packed elements are numbered from the lowest bit of the first byte on, as
    /// the standard requires.
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
    /// assert_eq!(tensor.raw_bits()?.iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::NoBackend`] for pinned memory that was exported for a stream,
    /// [`Error::TooWide`] for elements of more than 64 bits including all lanes,
    /// [`Error::UnsupportedDType`] for types of a later version of DLPack.
    pub fn raw_bits(&self) -> Result<RawBits<'_>, Error> {
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
        Ok(RawBits { tensor: self, bits, stored })
    }
}

impl<'a> RawBits<'a> {
    /// Shape.
    pub fn shape(&self) -> &'a [i64] {
        self.tensor.shape()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        // Their bytes fit in memory, but the number of 1-bit elements can exceed a `usize`
        // of 32 bits.
        usize::try_from(self.tensor.numel()).unwrap_or(usize::MAX)
    }

    /// Whether the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bits of each element.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Reads the bits of one element.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchElement`] if the index does not have one entry per dimension or if an
    /// entry is out of bounds.
    pub fn load(&self, index: &[usize]) -> Result<u64, Error> {
        let position = self.tensor.position(index)?;
        Ok(self.load_at(position))
    }

    /// Iterates over all elements in row-major order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + FusedIterator + use<'a> {
        let bits = *self;
        let (shape, strides) = (bits.tensor.shape(), bits.tensor.strides());
        (0..bits.len()).map(move |number| {
            // There are at most `i64::MAX` elements.
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            bits.load_at(strides::offset_of(number, shape, strides))
        })
    }

    /// Reads the element at `position`, in elements from the first one; 0 if it does not lie
    /// in the memory of the tensor.
    fn load_at(&self, position: i64) -> u64 {
        // The bytes fit in memory, so the number of their bits fits in 128 bits.
        let bit = i128::from(position).wrapping_mul(self.stored.into());
        let skipped = u32::try_from(bit & 7).unwrap_or(0);
        let byte = isize::try_from(bit >> 3).unwrap_or(0);
        let len = skipped.saturating_add(self.bits).div_ceil(8);
        // At most 7 bits are skipped, and at most 64 are read.
        let mut room = [MaybeUninit::uninit(); 9];
        let piece = Part::of_run(byte, len.min(9) as usize);
        let Some(read) = piece.read_to(&self.tensor.source(), &mut room) else { return 0 };
        self.in_order(read);
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(read).for_each(|(to, from)| *to = *from);
        let code = u128::from_le_bytes(bytes).wrapping_shr(skipped);
        let unused = u64::BITS.saturating_sub(self.bits);
        #[expect(clippy::cast_possible_truncation, reason = "there are no more bits than these")]
        let code = code as u64;
        code.wrapping_shl(unused).wrapping_shr(unused)
    }

    /// Reverses the bytes of each lane on big-endian machines.
    fn in_order(&self, bytes: &mut [u8]) {
        let lane = usize::from(self.tensor.dtype().bits() / 8);
        if cfg!(target_endian = "big") && lane > 1 {
            bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
        }
    }
}
