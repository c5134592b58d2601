//! An accepted tensor, from which fields are made: [`Accepted`]. Parts of a layout that an attribute
//! states as constants are compared with it: `offset(elements) = 12`, `strides = Self::STRIDES`.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use crate::__private::import::requirements::{
    self, ANY_ORDER, Requirement, StrideUnit, order_of_strides,
};
use crate::__private::import::{
    ConvertsFrom, DataType, Device, Dim, Error, FromDims, ImportError, ImportedTensor, Order,
};
use crate::describe::stored_bits;
use crate::dims::AsDims;
use crate::import::{MetadataField, Mismatch, MismatchKind, number};
use crate::strides;

/// An accepted tensor, and the location of its elements in the new struct.
///
/// It borrows the tensor, which is moved into the field `data` later: moving a handle that
/// was just written costs more than making it.
#[derive(Debug)]
pub struct Accepted<'a> {
    pub(super) tensor: &'a ImportedTensor,
    name: &'static str,
    /// The location of the elements.
    pub place: Kept,
}

/// The location of the elements in the new struct.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// In the memory of the tensor, as elements with those axes.
    InTensor(&'static [i64]),
    /// In a copy in that order, as elements with those axes.
    Copied(Order, &'static [i64]),
}

/// Whether a list may have more entries than the tensor has dimensions.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// It has as many entries as there are dimensions.
    Filled,
    /// It may have more; another field holds the number of entries in use.
    Spare,
}

/// Checks that a tensor satisfies the requirements of a type, and returns what its fields are made
/// from.
#[inline(always)]
pub fn begin<'a>(
    tensor: &'a ImportedTensor,
    name: &'static str,
    place: Kept,
    wants: &[Requirement<'_>],
) -> Result<Accepted<'a>, ImportError> {
    requirements::accepts(tensor, name, wants)?;
    Ok(Accepted { tensor, name, place })
}

impl Accepted<'_> {
    pub(super) fn fits<T>(&self, unmet: Result<T, MismatchKind>) -> Result<T, ImportError> {
        unmet.map_err(|unmet| Mismatch::new(self.name, unmet).into())
    }

    fn number<I: Dim>(&self, found: i128, of: MetadataField) -> Result<I, ImportError> {
        let clamped = found.clamp(i64::MIN.into(), i64::MAX.into());
        self.fits(number(i64::try_from(clamped).unwrap_or(0), of))
    }

    /// The dimensions, without the axes of each element.
    #[inline]
    pub(super) fn shape(&self) -> &[i64] {
        requirements::outer(self.tensor.shape(), self.axes())
    }

    /// The axes of each element.
    #[inline]
    fn axes(&self) -> &'static [i64] {
        match self.place {
            Kept::InTensor(axes) | Kept::Copied(_, axes) => axes,
        }
    }

    /// The size of an element in bits.
    fn bits(&self) -> i64 {
        let bits = stored_bits(self.tensor.dtype(), requirements::is_padded(self.tensor));
        // The size in memory equals the size of the Rust type.
        bits.saturating_mul(self.axes().iter().product())
    }

    /// The strides in elements in the new location, each multiplied by `times`.
    ///
    /// Always inlined, for store forwarding: a list that is returned through memory is written
    /// number by number and read as a whole, and the read waits for the writes. Measured, an import
    /// as a struct: 37 ns, inlined 30; 53 and 40 where the caller moves the struct too.
    #[inline(always)]
    fn stride_list<D: FromDims>(&self, room: Room, times: i64) -> Result<D, ImportError> {
        match (room, D::CAPACITY) {
            (Room::Filled, Some(needed)) if needed != self.shape().len() => {
                return Err(self.other_rank(needed));
            }
            _ => {}
        }
        if times == 1 && matches!(self.place, Kept::InTensor([])) {
            // A number that does not fit may be one that no element depends on.
            D::from_dims(self.tensor.strides()).or_else(|_| self.computed_stride_list(times))
        } else {
            self.computed_stride_list(times)
        }
    }

    #[cold]
    fn other_rank(&self, needed: usize) -> ImportError {
        let unmet = MismatchKind::Rank { needed: Vec::from([needed]), found: self.shape().len() };
        Mismatch::new(self.name, unmet).into()
    }

    #[cold]
    fn stride_error(&self, unmet: MismatchKind) -> ImportError {
        let unmet = match unmet {
            MismatchKind::Fit { number: MetadataField::Dimension(axis), found, int } => {
                MismatchKind::Fit { number: MetadataField::Stride(axis), found, int }
            }
            unmet => unmet,
        };
        Mismatch::new(self.name, unmet).into()
    }

    /// [`stride_list`](Self::stride_list) in bytes, of a copy, of elements that are arrays, or of a
    /// tensor with strides that do not fit.
    #[inline(never)]
    fn computed_stride_list<D: FromDims>(&self, times: i64) -> Result<D, ImportError> {
        let mut room = [0; strides::MAX_NDIM];
        let strides = self.computed_strides(&mut room, times, Order::RowMajor);
        D::from_dims(strides).map_err(|unmet| self.stride_error(unmet))
    }

    /// The strides, each multiplied by `times`. An axis whose stride no element depends on has that
    /// of a contiguous tensor: of a copy, or in this order.
    fn computed_strides<'b>(
        &self,
        room: &'b mut [i64; strides::MAX_NDIM],
        times: i64,
        order: Order,
    ) -> &'b [i64] {
        let shape = self.shape();
        let compact = room.get_mut(..shape.len()).unwrap_or_default();
        let order = if let Kept::Copied(order, _) = self.place { order } else { order };
        order.write_strides(shape, compact);
        if matches!(self.place, Kept::InTensor(_)) && self.tensor.numel() != 0 {
            let mut room = [0; strides::MAX_NDIM];
            let found = requirements::strides(self.tensor, shape, &mut room);
            for ((to, &dim), &stride) in compact.iter_mut().zip(shape).zip(found) {
                if dim > 1 {
                    *to = stride;
                }
            }
        }
        for stride in &mut *compact {
            *stride = stride.saturating_mul(times);
        }
        compact
    }

    /// The stride of one axis in the new location, multiplied by `times`.
    fn one_stride<I: Dim>(&self, axis: usize, order: Order, times: i64) -> Result<I, ImportError> {
        let mut room = [0; strides::MAX_NDIM];
        // The tensor was accepted, so it has the axis.
        let stride = self.computed_strides(&mut room, times, order).get(axis).copied().unwrap_or(0);
        self.number(stride.into(), MetadataField::Stride(axis))
    }

    /// The size of an element in whole bytes.
    fn byte_size(&self) -> Result<i64, ImportError> {
        let bits = self.bits();
        let dtype = self.tensor.dtype();
        if bits % 8 == 0 { Ok(bits >> 3) } else { Err(Error::InsideByte { dtype }.into()) }
    }

    /// The order, and the stride of the slowest axis in elements.
    pub(super) fn order_and_pitch(&self, order: Option<Order>) -> (Order, i64) {
        match (self.place, order) {
            (Kept::InTensor(_), order) => requirements::pitched(self.tensor, self.shape(), order),
            (Kept::Copied(order, _), _) => {
                let mut room = [0; strides::MAX_NDIM];
                let slowest = self.computed_strides(&mut room, 1, order).iter().max();
                Some((order, slowest.copied().unwrap_or(0)))
            }
        }
        // `accepts` has checked that there is one.
        .unwrap_or_default()
    }

    /// Number of bytes from the start of the memory to the first element.
    fn before(&self) -> usize {
        match self.place {
            Kept::InTensor(_) => self.tensor.byte_range().start.unsigned_abs(),
            Kept::Copied(..) => 0,
        }
    }

    /// Number of bytes from the first element to the end of the memory.
    fn after(&self) -> usize {
        match self.place {
            Kept::InTensor(_) => self.tensor.byte_range().end.unsigned_abs(),
            Kept::Copied(..) => requirements::byte_len(self.tensor),
        }
    }

    /// Converts a number of bytes into a number of elements.
    fn in_elements(&self, bytes: usize) -> i128 {
        let bits = (bytes as i128).saturating_mul(8);
        bits.checked_div(self.bits().into()).unwrap_or(0)
    }
}

/// Makes a list of the dimensions.
pub fn dims<D: FromDims>(accepted: &Accepted<'_>, room: Room) -> Result<D, ImportError> {
    match (room, D::CAPACITY) {
        (Room::Filled, Some(needed)) if needed != accepted.shape().len() => {
            Err(accepted.other_rank(needed))
        }
        _ => accepted.fits(D::from_dims(accepted.shape())),
    }
}

/// Makes a field in `shape(height, width)`.
pub fn extent<I: Dim>(accepted: &Accepted<'_>, axis: usize) -> Result<I, ImportError> {
    let dim = accepted.shape().get(axis).copied().unwrap_or(0);
    accepted.number(dim.into(), MetadataField::Dimension(axis))
}

/// Makes the field `ndim`.
pub fn ndim<I: Dim>(accepted: &Accepted<'_>) -> Result<I, ImportError> {
    accepted.number(accepted.shape().len() as i128, MetadataField::Rank)
}

/// Makes the field `strides`.
#[inline(always)]
pub fn strides<D: FromDims>(accepted: &Accepted<'_>, room: Room) -> Result<D, ImportError> {
    accepted.stride_list(room, 1)
}

/// Makes the field `strides(bytes)`.
pub fn byte_strides<D: FromDims>(accepted: &Accepted<'_>, room: Room) -> Result<D, ImportError> {
    accepted.stride_list(room, accepted.byte_size()?)
}

/// Makes a field in `strides(hop, 1)`.
pub fn stride<I: Dim>(
    accepted: &Accepted<'_>,
    (axis, order): (usize, Order),
) -> Result<I, ImportError> {
    accepted.one_stride(axis, order, 1)
}

/// Makes a field in `byte_strides(pitch, 4)`.
pub fn byte_stride<I: Dim>(
    accepted: &Accepted<'_>,
    (axis, order): (usize, Order),
) -> Result<I, ImportError> {
    accepted.one_stride(axis, order, accepted.byte_size()?)
}

/// Makes the field `order`.
pub fn order<O: ConvertsFrom<Order>>(accepted: &Accepted<'_>) -> Result<O, ImportError> {
    O::from_value(accepted.order_and_pitch(ANY_ORDER).0)
}

/// Makes the field `pitch(elements)`.
pub fn pitch<I: Dim>(accepted: &Accepted<'_>, order: Option<Order>) -> Result<I, ImportError> {
    accepted.number(accepted.order_and_pitch(order).1.into(), MetadataField::Pitch)
}

/// Makes the field `pitch(bytes)`.
pub fn byte_pitch<I: Dim>(accepted: &Accepted<'_>, order: Option<Order>) -> Result<I, ImportError> {
    let pitch = accepted.order_and_pitch(order).1;
    accepted.number(
        i128::from(pitch).saturating_mul(accepted.byte_size()?.into()),
        MetadataField::Pitch,
    )
}

/// Makes the field `offset(elements)`.
pub fn offset<I: Dim>(accepted: &Accepted<'_>) -> Result<I, ImportError> {
    let elements = accepted.in_elements(accepted.before());
    let exact = elements.saturating_mul(accepted.bits().into());
    if exact != (accepted.before() as i128).saturating_mul(8) {
        return Err(Error::InsideByte { dtype: accepted.tensor.dtype() }.into());
    }
    accepted.number(elements, MetadataField::Offset)
}

/// Makes the field `byte_offset`, or `offset(bytes)`.
pub fn byte_offset<I: Dim>(accepted: &Accepted<'_>) -> Result<I, ImportError> {
    accepted.number(accepted.before() as i128, MetadataField::Offset)
}

/// Makes the field `len(elements)`.
pub fn len<I: Dim>(accepted: &Accepted<'_>) -> Result<I, ImportError> {
    accepted.number(accepted.in_elements(accepted.after()), MetadataField::Len)
}

/// Makes the field `len(bytes)`.
pub fn byte_len<I: Dim>(accepted: &Accepted<'_>) -> Result<I, ImportError> {
    accepted.number(accepted.after() as i128, MetadataField::Len)
}

/// Makes the field `dtype`.
pub fn dtype<T: ConvertsFrom<DataType>>(accepted: &Accepted<'_>) -> Result<T, ImportError> {
    T::from_value(accepted.tensor.dtype())
}

/// Makes the field `device`.
pub fn device<T: ConvertsFrom<Device>>(accepted: &Accepted<'_>) -> Result<T, ImportError> {
    T::from_value(match accepted.place {
        Kept::InTensor(_) => accepted.tensor.device(),
        Kept::Copied(..) => Device::CPU,
    })
}

/// Compares a number. The offset of a tensor without elements may be any.
pub fn stated(
    accepted: &Accepted<'_>,
    (number, in_bytes): (MetadataField, bool),
    found: Result<i64, ImportError>,
    needed: Option<i64>,
) -> Result<(), ImportError> {
    let found = found?;
    let is_unused = number == MetadataField::Offset && accepted.tensor.numel() == 0;
    if is_unused || needed == Some(found) {
        return Ok(());
    }
    let needed = needed.unwrap_or(i64::MAX);
    accepted.fits(Err(MismatchKind::Number { number, needed, found, in_bytes }))
}

/// Compares the pitch, on which no element depends if there is one row.
pub fn stated_pitch(
    accepted: &Accepted<'_>,
    in_bytes: bool,
    order: Option<Order>,
    found: Result<i64, ImportError>,
    needed: Option<i64>,
) -> Result<(), ImportError> {
    let slowest = match accepted.order_and_pitch(order).0 {
        Order::RowMajor => accepted.shape().first(),
        Order::ColumnMajor => accepted.shape().last(),
    };
    if accepted.tensor.numel() == 0 || slowest.is_none_or(|&dim| dim <= 1) {
        return Ok(());
    }
    stated(accepted, (MetadataField::Pitch, in_bytes), found, needed)
}

/// Compares the shape.
pub fn stated_shape<D: AsDims + ?Sized>(
    accepted: &Accepted<'_>,
    needed: &D,
) -> Result<(), ImportError> {
    let (shape, needed) = (accepted.shape(), needed.as_dims());
    let meets = |want: Requirement<'_>| want.meets(accepted.tensor, shape);
    accepted.fits(meets(Requirement::Rank(&[needed.len()])))?;
    let mut axes = needed.iter().map(|dim| dim.to_i64()).enumerate();
    accepted.fits(axes.try_for_each(|(axis, dim)| meets(Requirement::Dimension(axis, dim))))
}

/// Compares the strides, or those of a copy in that order.
pub fn stated_strides<D: AsDims + ?Sized>(
    accepted: &Accepted<'_>,
    unit: StrideUnit,
    needed: &D,
    order: Order,
) -> Result<(), ImportError> {
    let needed: Vec<_> = needed.as_dims().iter().map(|dim| dim.to_i64()).enumerate().collect();
    let order = matches!(accepted.place, Kept::Copied(..)).then_some(order);
    let meets = |want: Requirement<'_>| want.meets(accepted.tensor, accepted.shape());
    accepted.fits(meets(Requirement::Rank(&[needed.len()])))?;
    accepted.fits(meets(Requirement::Strides(unit, &needed, order)))
}

/// Compares the device.
pub fn stated_device(accepted: &Accepted<'_>, needed: Device) -> Result<(), ImportError> {
    let found = super::device::<Device>(accepted)?;
    if found == needed {
        return Ok(());
    }
    let needed = vec![needed.to_string().into()];
    accepted.fits(Err(MismatchKind::Device { needed, found }))
}

/// The order of a copy with those strides.
pub fn order_of_list<D: AsDims + ?Sized>(unit: StrideUnit, strides: &D) -> Order {
    let strides = strides.as_dims();
    let [first, last] = [strides.first(), strides.last()].map(|stride| stride?.to_i64());
    order_of_strides(unit, first.map(i128::from), last.map(i128::from))
}
