//! The description of a tensor to be allocated: [`Prototype`].

use crate::device::Device;
use crate::dims::Dims;
use crate::dtype::DataType;
use crate::error::Error;
use crate::strides;

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
