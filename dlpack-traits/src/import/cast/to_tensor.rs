//! Conversions to a new tensor: [`ImportedTensor::cast`]; and whether one would make arbitrary values:
//! [`is_beyond`].

use super::small_float::{
    BComplex32, BF16, Complex32, E3M4, E4M3, E4M3B11FNUZ, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, F16,
};
use super::sources::{Reader, read_by};
use super::values::{CHUNK, Narrow, Value, Wide};
use super::{Kind, Number, is_allowed, kind_of};
use crate::copy::{Copied, Zeroed};
use crate::describe::Order;
use crate::dtype::DataType;
use crate::element::{Complex, Readable};
use crate::error::Error;
use crate::export::copied_managed;
use crate::ffi;
use crate::import::ImportedTensor;
use crate::import::copied::memory_order;
use crate::storage::AlignedBuf;
use crate::strides::{MAX_NDIM, turned};

/// The reason why a tensor is not cast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CastError {
    /// The rule does not allow it, because values could be lost: [`is_allowed`].
    NotAllowed,
    /// An integer is out of range, or a finite number would become infinite.
    OutOfRange,
    Tensor(Error),
}

impl From<Error> for CastError {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl ImportedTensor {
    /// Copies the elements as another type: `bool` and integers to integers if every value fits,
    /// and to floats and complex numbers; floats to floats and complex numbers, rounded to the
    /// nearest value; complex numbers to complex numbers. A tensor without elements is cast to
    /// every numeric type.
    ///
    /// The copy is as that of [`to_own_copy`](Self::to_own_copy): dense, in row-major or
    /// column-major order. The elements are read once.
    ///
    /// # Errors
    ///
    /// [`CastError`].
    pub(crate) fn cast(&self, to: DataType) -> Result<Self, CastError> {
        let from = self.dtype();
        let is_empty = self.numel() == 0 && kind_of(from).is_some() && kind_of(to).is_some();
        if is_empty {
            let copied = Copied::moved::<u8>(AlignedBuf::zeroed(0)?, to, self.shape())?;
            return Ok(copied_managed(copied)?.import()?);
        }
        if !is_allowed(from, to) {
            return Err(CastError::NotAllowed);
        }
        match to {
            DataType::I8 => self.cast_to::<i8>(),
            DataType::I16 => self.cast_to::<i16>(),
            DataType::I32 => self.cast_to::<i32>(),
            DataType::I64 => self.cast_to::<i64>(),
            DataType::U8 => self.cast_to::<u8>(),
            DataType::U16 => self.cast_to::<u16>(),
            DataType::U32 => self.cast_to::<u32>(),
            DataType::U64 => self.cast_to::<u64>(),
            DataType::F16 => self.cast_to::<F16>(),
            DataType::BF16 => self.cast_to::<BF16>(),
            DataType::F32 => self.cast_to::<f32>(),
            DataType::F64 => self.cast_to::<f64>(),
            DataType::FLOAT8_E3M4 => self.cast_to::<E3M4>(),
            DataType::FLOAT8_E4M3 => self.cast_to::<E4M3>(),
            DataType::FLOAT8_E4M3B11FNUZ => self.cast_to::<E4M3B11FNUZ>(),
            DataType::FLOAT8_E4M3FN => self.cast_to::<E4M3FN>(),
            DataType::FLOAT8_E4M3FNUZ => self.cast_to::<E4M3FNUZ>(),
            DataType::FLOAT8_E5M2 => self.cast_to::<E5M2>(),
            DataType::FLOAT8_E5M2FNUZ => self.cast_to::<E5M2FNUZ>(),
            DataType::COMPLEX32 => self.cast_to::<Complex32>(),
            DataType::BCOMPLEX32 => self.cast_to::<BComplex32>(),
            DataType::COMPLEX64 => self.cast_to::<Complex<f32>>(),
            DataType::COMPLEX128 => self.cast_to::<Complex<f64>>(),
            _ => Err(CastError::NotAllowed),
        }
    }

    fn cast_to<T: Narrow>(&self) -> Result<Self, CastError> {
        self.on_host()?;
        // Elements that share bytes are read in row-major order only.
        let order = match memory_order(self.shape(), self.strides()) {
            Order::ColumnMajor if self.dtype().bits() >= 8 => Order::ColumnMajor,
            _ => Order::RowMajor,
        };
        let mut reversed = [0; MAX_NDIM];
        let shape = match order {
            Order::RowMajor => self.shape(),
            Order::ColumnMajor => turned(self.shape(), 0, &mut reversed),
        };
        let mut copied = Zeroed::<T::Stored>::new(T::DTYPE, shape)?;
        let mut left = copied.as_mut_slice();
        let mut are_kept = true;
        let narrow = &mut |block: Wide<'_>| {
            let (to, rest) =
                core::mem::take(&mut left).split_at_mut_checked(block.len()).unwrap_or_default();
            are_kept &= T::narrow(&block, to);
            left = rest;
        };
        read_by(self.dtype(), Widened { tensor: self, order, f: narrow })?;
        if !are_kept {
            return Err(CastError::OutOfRange);
        }
        let copied = match order {
            Order::RowMajor => copied.into_copied(T::DTYPE, shape)?,
            Order::ColumnMajor => copied.into_copied(T::DTYPE, shape)?.into_transposed()?,
        };
        Ok(copied_managed(copied)?.import()?)
    }
}

/// Calls a function with blocks of the values of all elements, in an order of the axes.
///
/// One loop for each pair of types would be 300 loops; these are 60, and the wide values stay in
/// the first cache.
struct Widened<'a> {
    tensor: &'a ImportedTensor,
    order: Order,
    f: &'a mut dyn FnMut(Wide<'_>),
}

impl Reader for Widened<'_> {
    fn stored<S: Readable, W: Value>(self, value: impl Fn(S) -> W) -> Result<(), Error> {
        let elements = self.tensor.stored_as::<S>()?;
        let mut values = [W::default(); CHUNK];
        let each = |block: &[S]| {
            for chunk in block.chunks(CHUNK) {
                let values = values.get_mut(..chunk.len()).unwrap_or_default();
                for (to, &element) in values.iter_mut().zip(chunk) {
                    *to = value(element);
                }
                (self.f)(W::wide(values));
            }
        };
        match self.order {
            Order::RowMajor => elements.try_for_each_block(each),
            Order::ColumnMajor => elements.try_for_each_block_by_columns(each),
        }
    }

    fn packed<W: Value>(self, value: impl Fn(u64) -> W) -> Result<(), Error> {
        for bits in self.tensor.raw_bits()?.iter() {
            (self.f)(W::wide(&[value(bits)]));
        }
        Ok(())
    }
}

/// Whether a cast to an integer type or `bool` makes arbitrary values of some: of NaN, of infinite ones,
/// and of those beyond the range of the type. Of complex numbers the real parts are converted to integers.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction does not count, and the cast saturates"
)]
pub(crate) fn is_beyond(tensor: &ImportedTensor, to: DataType) -> bool {
    let unused = 128_u32.saturating_sub(to.bits().into());
    let to_bool = to.code() == ffi::kDLBool;
    let range = match to.code() {
        ffi::kDLBool => i128::MIN..=i128::MAX,
        ffi::kDLUInt => 0..=i128::MAX.checked_shr(unused.saturating_sub(1)).unwrap_or(0),
        ffi::kDLInt => i128::MIN >> unused.min(127)..=i128::MAX >> unused.min(127),
        _ => return false,
    };
    let is_in = |value: f64| value.is_finite() && range.contains(&(value as i128));
    match (kind_of(tensor.dtype()), tensor.dtype().code()) {
        (Some(Kind::Complex), _) => some::<Complex<f64>>(tensor, |value| {
            !is_in(value.re) || (to_bool && !value.im.is_finite())
        }),
        (Some(Kind::Float), _) => some::<f64>(tensor, |value| !is_in(value)),
        (Some(Kind::Integer), _) if to_bool => false,
        (Some(Kind::Integer), ffi::kDLInt) => {
            some::<i64>(tensor, |value| !range.contains(&value.into()))
        }
        (Some(Kind::Integer), _) => some::<u64>(tensor, |value| !range.contains(&value.into())),
        _ => false,
    }
}

/// Whether a condition holds for an element that is read as a type.
fn some<T: Number>(tensor: &ImportedTensor, is: impl Fn(T) -> bool) -> bool {
    let mut found = false;
    let read = tensor.elements_as::<T>().and_then(|elements| {
        elements.for_each_block(|values| found = found || values.iter().any(|&value| is(value)))
    });
    read.is_ok() && found
}
