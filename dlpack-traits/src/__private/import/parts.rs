//! A tensor that is accepted, and what its fields are made of: [`Parts`].

use super::wants::{self, ANY_ORDER};
use super::{
    DLPackImport, DTypeTarget, Device, DeviceTarget, Dim, Error, FromDims, ImportError, Imported,
    Order, OrderTarget,
};
use crate::described::stored_bits;
use crate::import::{Number, Requirement, Unmet, number};
use crate::layout;

/// A tensor that is accepted, and what is made of its elements.
#[derive(Debug)]
pub struct Parts {
    pub(super) tensor: Imported,
    name: &'static str,
    pub(super) place: Place,
}

/// Where the elements will be.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Where they are.
    Held,
    /// In a copy in that order.
    Copied(Order),
}

/// Where the elements will be: where they are.
pub const HELD: Place = Place::Held;
/// In a row-major copy.
pub const COPIED: Place = Place::Copied(Order::RowMajor);
/// In a column-major copy.
pub const COPIED_BY_COLUMNS: Place = Place::Copied(Order::ColumnMajor);

/// Takes a tensor that has all that its type needs.
pub fn begin<S: DLPackImport>(
    tensor: Imported,
    name: &'static str,
    place: Place,
) -> Result<Parts, ImportError> {
    S::accepts(&tensor)?;
    Ok(Parts { tensor, name, place })
}

impl Parts {
    pub(super) fn fits<T>(&self, unmet: Result<T, Unmet>) -> Result<T, ImportError> {
        unmet.map_err(|unmet| Requirement::new(self.name, unmet).into())
    }

    fn number<I: Dim>(&self, found: i128, of: Number) -> Result<I, ImportError> {
        let clamped = found.clamp(i64::MIN.into(), i64::MAX.into());
        self.fits(number(i64::try_from(clamped).unwrap_or(0), of))
    }

    /// Bits of an element, where it will be.
    fn bits(&self) -> i64 {
        stored_bits(self.tensor.dtype(), wants::is_padded(&self.tensor))
    }

    /// Strides in elements, where they will be, each times something.
    fn stride_list<D: FromDims>(&self, times: i64) -> Result<D, ImportError> {
        let mut compact = [0; layout::MAX_NDIM];
        let compact = compact.get_mut(..self.tensor.ndim()).unwrap_or_default();
        match self.place {
            Place::Held => compact.copy_from_slice(self.tensor.strides()),
            Place::Copied(Order::RowMajor) => {
                layout::row_major_strides(self.tensor.shape(), compact);
            }
            Place::Copied(Order::ColumnMajor) => {
                layout::column_major_strides(self.tensor.shape(), compact);
            }
        }
        for stride in &mut *compact {
            *stride = stride.saturating_mul(times);
        }
        self.fits(D::from_dims(compact).map_err(|unmet| match unmet {
            Unmet::Fit { number: Number::Dimension(axis), found, int } => {
                Unmet::Fit { number: Number::Stride(axis), found, int }
            }
            unmet => unmet,
        }))
    }

    /// Whole bytes of an element.
    fn byte_size(&self) -> Result<i64, ImportError> {
        let bits = self.bits();
        let dtype = self.tensor.dtype();
        if bits % 8 == 0 { Ok(bits >> 3) } else { Err(Error::InsideByte { dtype }.into()) }
    }

    /// Order, and the step of the slowest axis in elements.
    fn order_and_pitch(&self, order: Option<Order>) -> (Order, i64) {
        match (self.place, order) {
            (Place::Held, order) => wants::pitched(&self.tensor, order),
            (Place::Copied(order), _) => {
                let compact = self.tensor.shape();
                let slowest = match order {
                    Order::RowMajor => compact.get(1..),
                    Order::ColumnMajor => compact.split_last().map(|(_, others)| others),
                };
                let row = slowest.map(|others| {
                    others.iter().fold(1_i64, |row, &dim| row.saturating_mul(dim.max(1)))
                });
                Some((order, row.unwrap_or(0)))
            }
        }
        // `accepts` asked for it.
        .unwrap_or_default()
    }

    /// Bytes from the start of the memory to the first element.
    fn before(&self) -> usize {
        match self.place {
            Place::Held => self.tensor.byte_range().start.unsigned_abs(),
            Place::Copied(_) => 0,
        }
    }

    /// Bytes from the first element to the end of the memory.
    fn after(&self) -> usize {
        match self.place {
            Place::Held => self.tensor.byte_range().end.unsigned_abs(),
            Place::Copied(_) => wants::byte_len(&self.tensor),
        }
    }

    /// A number of bytes in elements.
    fn in_elements(&self, bytes: usize) -> i128 {
        let bits = (bytes as i128).saturating_mul(8);
        bits.checked_div(self.bits().into()).unwrap_or(0)
    }
}

/// A field in `shape(height, width)`.
pub fn extent<I: Dim>(parts: &Parts, axis: usize) -> Result<I, ImportError> {
    let dim = parts.tensor.shape().get(axis).copied().unwrap_or(0);
    parts.number(dim.into(), Number::Dimension(axis))
}

/// The field `ndim`.
pub fn ndim<I: Dim>(parts: &Parts) -> Result<I, ImportError> {
    parts.number(parts.tensor.ndim() as i128, Number::Rank)
}

/// The field `strides`.
pub fn strides<D: FromDims>(parts: &Parts) -> Result<D, ImportError> {
    parts.stride_list(1)
}

/// The field `strides(bytes)`.
pub fn byte_strides<D: FromDims>(parts: &Parts) -> Result<D, ImportError> {
    parts.stride_list(parts.byte_size()?)
}

/// The field `order`.
pub fn order<O: OrderTarget>(parts: &Parts) -> Result<O, ImportError> {
    O::from_order(parts.order_and_pitch(ANY_ORDER).0)
}

/// The field `pitch(elements)`.
pub fn pitch<I: Dim>(parts: &Parts, order: Option<Order>) -> Result<I, ImportError> {
    parts.number(parts.order_and_pitch(order).1.into(), Number::Pitch)
}

/// The field `pitch(bytes)`.
pub fn byte_pitch<I: Dim>(parts: &Parts, order: Option<Order>) -> Result<I, ImportError> {
    let pitch = parts.order_and_pitch(order).1;
    parts.number(i128::from(pitch).saturating_mul(parts.byte_size()?.into()), Number::Pitch)
}

/// The field `offset(elements)`.
pub fn offset<I: Dim>(parts: &Parts) -> Result<I, ImportError> {
    let elements = parts.in_elements(parts.before());
    let exact = elements.saturating_mul(parts.bits().into());
    if exact != (parts.before() as i128).saturating_mul(8) {
        return Err(Error::InsideByte { dtype: parts.tensor.dtype() }.into());
    }
    parts.number(elements, Number::Offset)
}

/// The field `byte_offset`, or `offset(bytes)`.
pub fn byte_offset<I: Dim>(parts: &Parts) -> Result<I, ImportError> {
    parts.number(parts.before() as i128, Number::Offset)
}

/// The field `len(elements)`.
pub fn len<I: Dim>(parts: &Parts) -> Result<I, ImportError> {
    parts.number(parts.in_elements(parts.after()), Number::Len)
}

/// The field `len(bytes)`.
pub fn byte_len<I: Dim>(parts: &Parts) -> Result<I, ImportError> {
    parts.number(parts.after() as i128, Number::Len)
}

/// The field `dtype`.
pub fn dtype<T: DTypeTarget>(parts: &Parts) -> Result<T, ImportError> {
    Ok(T::from_dtype(parts.tensor.dtype())?)
}

/// The field `device`.
pub fn device<T: DeviceTarget>(parts: &Parts) -> Result<T, ImportError> {
    T::from_device(match parts.place {
        Place::Held => parts.tensor.device(),
        Place::Copied(_) => Device::CPU,
    })
}
