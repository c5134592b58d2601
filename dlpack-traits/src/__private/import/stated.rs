//! Parts of a layout that an attribute states as constants, which an import compares with the
//! tensor: `offset(elements) = 12`, `strides = Self::STRIDES`.

use alloc::vec::Vec;

use super::accepted::{Accepted, Kept};
use super::requirements::{Requirement, StrideUnit, order_of_strides};
use super::{Device, Dim, ImportError, Order, number};
use crate::dims::AsDims;
use crate::import::{MetadataField, MismatchKind};

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
    let mut axes = needed.iter().map(number).enumerate();
    accepted.fits(axes.try_for_each(|(axis, dim)| meets(Requirement::Dimension(axis, dim))))
}

/// Compares the strides, or those of a copy in that order.
pub fn stated_strides<D: AsDims + ?Sized>(
    accepted: &Accepted<'_>,
    unit: StrideUnit,
    needed: &D,
    order: Order,
) -> Result<(), ImportError> {
    let needed: Vec<_> = needed.as_dims().iter().map(number).enumerate().collect();
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
    let needed = needed.kind_name().into_iter().collect();
    accepted.fits(Err(MismatchKind::Device { needed, found }))
}

/// The order of a copy with those strides.
pub fn order_of_list<D: AsDims + ?Sized>(unit: StrideUnit, strides: &D) -> Order {
    let strides = strides.as_dims();
    let [first, last] = [strides.first(), strides.last()].map(|stride| stride?.to_i64());
    order_of_strides(unit, first.map(i128::from), last.map(i128::from))
}
