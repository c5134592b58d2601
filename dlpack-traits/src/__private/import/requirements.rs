//! The requirements of a type on a tensor: [`Requirement`].

use super::{DataType, ImportError, ImportedTensor, Order};
use crate::describe::stored_bits;
use crate::flags::Flags;
use crate::import::{Mismatch, MismatchKind};
use crate::strides;

/// Row-major, for [`Requirement::Compact`] and [`Requirement::Pitched`].
pub const ROW_MAJOR: Option<Order> = Some(Order::RowMajor);
/// Column-major, likewise.
pub const COLUMN_MAJOR: Option<Order> = Some(Order::ColumnMajor);
/// Either order, likewise.
pub const ANY_ORDER: Option<Order> = None;

/// One requirement of a type on a tensor.
#[derive(Debug)]
pub enum Requirement<'a> {
    /// An element type from this list.
    DType(&'a [DataType]),
    /// A kind of device from this list.
    Device(&'a [&'static str]),
    /// A number of dimensions from this list.
    Rank(&'a [usize]),
    /// At most as many dimensions as the capacity, if it is limited.
    Room(Option<usize>),
    /// Exactly as many dimensions as the capacity, if it is limited.
    Filled(Option<usize>),
    /// A dimension of that size.
    Dimension(usize, Option<i64>),
    /// Two dimensions of equal size.
    Equal(usize, usize),
    /// Contiguous elements, because an attribute requires them.
    Contiguous(Option<Order>),
    /// Contiguous elements, because the type stores no strides.
    Compact(Option<Order>),
    /// Contiguous elements in row-major order, unless the data keeps the strides and the offset of
    /// the tensor.
    Kept(KeepsStrides),
    /// Contiguous elements except for the stride of the slowest axis.
    Pitched(Option<Order>),
    /// The strides of axes; those of a copy in this order, if the elements are copied.
    Strides(StrideUnit, &'a [ListedStride], Option<Order>),
    /// No element at a lower address than the first one.
    NothingBefore,
    /// Elements narrower than a byte that take one each (`true`), or are packed (`false`).
    Padded(bool),
    /// Elements narrower than a byte that are packed, without gaps, in that order: the bytes of a
    /// copy contain only elements, and parts of bytes are not copied.
    Packed(Order),
    /// The requirements of the type of the data. The second function returns the axes of
    /// each of its elements.
    Data(fn(&ImportedTensor) -> Result<(), MismatchKind>, AxesOf),
    /// The requirements of the type of the layout, for a copy or not.
    Layout(LayoutAccepts, bool),
}

/// The unit of a listed stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrideUnit {
    /// Elements of the storage.
    Elements,
    /// Bytes.
    Bytes,
}

/// An axis, and a constant in `strides(hop, 1)`; `None` if it does not fit.
pub type ListedStride = (usize, Option<i64>);

/// Returns the order of a copy for the first and the last stride of a list, each `None` for a field:
/// column-major if the first one is the stride of the fastest axis, which is 1 element.
///
/// In bytes it is any number, because a layout does not have the size of an element; then it is a
/// constant that is less than the last stride.
pub const fn order_of_strides(unit: StrideUnit, first: Option<i128>, last: Option<i128>) -> Order {
    match (first, last) {
        (Some(first), Some(last)) if first >= last => Order::RowMajor,
        (Some(1), _) => Order::ColumnMajor,
        (Some(_), _) if matches!(unit, StrideUnit::Bytes) => Order::ColumnMajor,
        _ => Order::RowMajor,
    }
}

/// The axes of each element of an accepted tensor.
pub type AxesOf = fn(&ImportedTensor) -> &'static [i64];

/// Whether the data keeps the strides of an accepted tensor.
pub type KeepsStrides = fn(&ImportedTensor) -> bool;

/// Checks whether a layout can describe a tensor. The arguments are the tensor, its
/// dimensions, and whether the elements are copied.
pub type LayoutAccepts = fn(&ImportedTensor, &[i64], bool) -> Result<(), MismatchKind>;

/// Checks whether a tensor satisfies all requirements.
///
/// It is inlined where the requirements are constants, so that each of the usual ones is one
/// comparison (measured: an import as a struct takes 110 instructions less).
#[inline(always)]
pub fn accepts(
    tensor: &ImportedTensor,
    name: &'static str,
    wants: &[Requirement<'_>],
) -> Result<(), ImportError> {
    let mut shape = tensor.shape();
    for want in wants {
        match *want {
            Requirement::Data(accepts, axes) => {
                if let Err(unmet) = accepts(tensor) {
                    return Err(mismatch(name, unmet));
                }
                // Later requirements are about elements of that type.
                shape = outer(shape, axes(tensor));
            }
            _ if want.is_plainly_met(tensor, shape) => {}
            _ => want.check(tensor, shape, name)?,
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn mismatch(name: &'static str, unmet: MismatchKind) -> ImportError {
    Mismatch::new(name, unmet).into()
}

/// The dimensions without the axes of each element.
#[inline]
pub(super) fn outer<'a>(shape: &'a [i64], axes: &[i64]) -> &'a [i64] {
    shape.get(..shape.len().saturating_sub(axes.len())).unwrap_or(shape)
}

/// Checks that the last dimensions of a tensor are those axes, contiguous, and that all
/// outer strides are whole numbers of such elements.
#[inline]
pub(super) fn has_axes(tensor: &ImportedTensor, axes: &'static [i64]) -> Result<(), MismatchKind> {
    if axes.is_empty() { Ok(()) } else { has_inner_axes(tensor, axes) }
}

fn has_inner_axes(tensor: &ImportedTensor, axes: &'static [i64]) -> Result<(), MismatchKind> {
    let shape = outer(tensor.shape(), axes);
    let outer = tensor.strides().split_at(shape.len()).0;
    if !tensor.shape().ends_with(axes) {
        return Err(MismatchKind::Axes { needed: axes });
    }
    if !strides::is_row_major_from(shape.len(), tensor.shape(), tensor.strides()) {
        return Err(MismatchKind::Contiguous { order: ROW_MAJOR, no_strides: false });
    }
    let parts: i64 = axes.iter().product();
    let is_whole = |(&dim, &stride): (&i64, &i64)| dim <= 1 || stride.checked_rem(parts) == Some(0);
    match shape.iter().zip(outer).enumerate().find(|&(_, entry)| !is_whole(entry)) {
        Some((found, (_, &stride))) if tensor.numel() != 0 => {
            Err(MismatchKind::WholeStrides { axis: found, stride, needed: axes })
        }
        _ => Ok(()),
    }
}

/// The strides of the outer dimensions `shape`, which are the first ones of the tensor, in
/// units of such elements.
pub(super) fn strides<'a>(
    tensor: &'a ImportedTensor,
    shape: &[i64],
    room: &'a mut [i64; strides::MAX_NDIM],
) -> &'a [i64] {
    match tensor.shape().get(shape.len()..) {
        None | Some([]) => tensor.strides(),
        Some(axes) => {
            let parts: i64 = axes.iter().product();
            let room = room.get_mut(..shape.len()).unwrap_or_default();
            for (to, &stride) in room.iter_mut().zip(tensor.strides()) {
                // A stride that is not a multiple belongs to a dimension of one element, or
                // to an empty tensor.
                *to = stride.checked_div(parts).unwrap_or(0);
            }
            room
        }
    }
}

/// Returns `Ok` if a requirement is met. The `MismatchKind` is built lazily: it has a destructor,
/// which the other values would run too (measured: 5 ns per import).
#[inline(always)]
fn require(met: bool, unmet: impl FnOnce() -> MismatchKind) -> Result<(), MismatchKind> {
    if met { Ok(()) } else { Err(unmet()) }
}

impl Requirement<'_> {
    /// Whether the requirement applies to elements that are copied, or to those that are not.
    /// Requirements on the strides of the tensor do not apply to a copy.
    pub(super) fn is_about(&self, copied: bool) -> bool {
        match self {
            Self::Compact(_) | Self::Pitched(_) | Self::NothingBefore => !copied,
            Self::Strides(_, _, of_copy) => copied == of_copy.is_some(),
            _ => true,
        }
    }

    /// Whether the requirement is met, for those of nearly every type. False does not mean that
    /// it is not met.
    #[inline(always)]
    fn is_plainly_met(&self, tensor: &ImportedTensor, shape: &[i64]) -> bool {
        match *self {
            Self::Room(None) | Self::Filled(None) => true,
            Self::Room(Some(most)) => shape.len() <= most,
            Self::Filled(Some(exact)) => shape.len() == exact,
            Self::Dimension(axis, needed) => shape.get(axis).copied() == needed,
            Self::NothingBefore => tensor.byte_range().start >= 0,
            Self::Kept(keeps) => keeps(tensor),
            _ => false,
        }
    }

    /// As [`decide`](Self::decide), with the error of a type.
    #[inline(never)]
    fn check(
        &self,
        tensor: &ImportedTensor,
        shape: &[i64],
        name: &'static str,
    ) -> Result<(), ImportError> {
        self.decide(tensor, shape).map_err(|unmet| mismatch(name, unmet))
    }

    pub(super) fn meets(&self, tensor: &ImportedTensor, shape: &[i64]) -> Result<(), MismatchKind> {
        if self.is_plainly_met(tensor, shape) { Ok(()) } else { self.decide(tensor, shape) }
    }

    /// Decides about a requirement that is not plainly met.
    fn decide(&self, tensor: &ImportedTensor, shape: &[i64]) -> Result<(), MismatchKind> {
        let rank = shape.len();
        match *self {
            Self::DType(needed) => {
                let found = tensor.dtype();
                require(needed.contains(&found), || MismatchKind::DType {
                    needed: needed.to_vec(),
                    found,
                })
            }
            Self::Device(needed) => {
                let found = tensor.device();
                let is = |kind: &&str| found.kind_name() == Some(*kind);
                let met = needed.iter().any(is);
                require(met, || MismatchKind::Device {
                    needed: needed.iter().map(|&kind| kind.into()).collect(),
                    found,
                })
            }
            Self::Rank(needed) => {
                let met = needed.contains(&rank);
                require(met, || MismatchKind::Rank { needed: needed.to_vec(), found: rank })
            }
            Self::Room(most) => {
                Err(MismatchKind::Room { most: most.unwrap_or(usize::MAX), found: rank })
            }
            Self::Filled(exact) => {
                Err(MismatchKind::Rank { needed: exact.into_iter().collect(), found: rank })
            }
            Self::Dimension(axis, needed) => match shape.get(axis) {
                // A constant that does not fit is larger than any dimension.
                Some(&found) => {
                    let needed = needed.unwrap_or(i64::MAX);
                    Err(MismatchKind::Dimension { axis, needed, found })
                }
                None => Ok(()),
            },
            Self::Equal(one, two) => match (shape.get(one), shape.get(two)) {
                (Some(&first), Some(&second)) => require(first == second, || {
                    MismatchKind::EqualDims { axes: [one, two], found: [first, second] }
                }),
                _ => Ok(()),
            },
            Self::Contiguous(order) | Self::Compact(order) => {
                let no_strides = matches!(self, Self::Compact(_));
                let compact = is_compact(tensor, shape, order);
                require(compact, || MismatchKind::Contiguous { order, no_strides })
            }
            Self::Kept(_) => Self::Compact(ROW_MAJOR).meets(tensor, shape),
            Self::Pitched(order) => {
                require(pitched(tensor, shape, order).is_some(), || MismatchKind::Pitched { order })
            }
            Self::Strides(unit, listed, copied) => has_strides(tensor, shape, unit, listed, copied),
            Self::NothingBefore => something_before(tensor),
            Self::Padded(needed) => {
                let narrow = tensor.dtype().element_bits() % 8 != 0;
                require(!narrow || is_padded(tensor) == needed, || MismatchKind::Padded { needed })
            }
            Self::Packed(order) => {
                if tensor.dtype().element_bits() % 8 == 0 {
                    return Ok(());
                }
                Self::Padded(false).meets(tensor, shape)?;
                Self::Contiguous(Some(order)).meets(tensor, shape)
            }
            Self::Data(accepts, _) => accepts(tensor),
            Self::Layout(accepts, copied) => accepts(tensor, shape, copied),
        }
    }
}

/// Checks the listed strides of axes, except those that no element depends on.
#[inline(never)]
fn has_strides(
    tensor: &ImportedTensor,
    shape: &[i64],
    unit: StrideUnit,
    listed: &[ListedStride],
    copied: Option<Order>,
) -> Result<(), MismatchKind> {
    let inner = tensor.shape().get(shape.len()..).unwrap_or_default();
    // In bits, because packed elements share bytes; in eighths of an element.
    let size = match unit {
        StrideUnit::Elements => 8,
        StrideUnit::Bytes => {
            stored_bits(tensor.dtype(), is_padded(tensor)).saturating_mul(inner.iter().product())
        }
    };
    // The first one that differs, with the number that the strides have.
    let other_in = |strides: &[i64]| {
        listed.iter().find_map(|&(axis, needed)| {
            let stride = strides.get(axis).copied().unwrap_or(0);
            let found = i128::from(stride).saturating_mul(size.into());
            let is_used = tensor.numel() != 0 && shape.get(axis).is_some_and(|&dim| dim > 1);
            let met = needed.is_some_and(|needed| found == i128::from(needed).saturating_mul(8));
            (is_used && !met).then_some((axis, needed, found))
        })
    };
    let other_of = |order: Order| {
        let mut room = [0; strides::MAX_NDIM];
        let strides = room.get_mut(..shape.len()).unwrap_or_default();
        order.write_strides(shape, strides);
        other_in(strides)
    };
    let other = match copied {
        None => other_in(strides(tensor, shape, &mut [0; strides::MAX_NDIM])),
        Some(order) => other_of(order),
    };
    let Some((axis, needed, found)) = other else { return Ok(()) };
    if found % 8 != 0 {
        return Err(MismatchKind::Padded { needed: true });
    }
    let found = found.div_euclid(8).clamp(i64::MIN.into(), i64::MAX.into());
    let found = i64::try_from(found).unwrap_or(0);
    let (needed, in_bytes) = (needed.unwrap_or(i64::MAX), unit == StrideUnit::Bytes);
    // The strides of the tensor do not change those of a copy.
    let orders = [Order::RowMajor, Order::ColumnMajor];
    let contiguous =
        orders.into_iter().find(|&order| copied.is_none() && other_of(order).is_none());
    Err(MismatchKind::Stride { axis, needed, found, in_bytes, contiguous })
}

/// Names the axis along which elements have a lower address than the first one.
fn something_before(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
    let mut strides = tensor.strides().iter().enumerate();
    match strides.find(|&(_, &stride)| stride < 0) {
        None => Ok(()),
        Some((axis, &stride)) => Err(MismatchKind::NothingBefore { axis, stride }),
    }
}

fn is_compact(tensor: &ImportedTensor, shape: &[i64], order: Option<Order>) -> bool {
    let mut room = [0; strides::MAX_NDIM];
    let strides = strides(tensor, shape, &mut room);
    let (by_rows, by_columns) = (strides::is_row_major, strides::is_column_major);
    match order {
        Some(Order::RowMajor) => by_rows(shape, strides),
        Some(Order::ColumnMajor) => by_columns(shape, strides),
        None => by_rows(shape, strides) || by_columns(shape, strides),
    }
}

pub(super) fn is_padded(tensor: &ImportedTensor) -> bool {
    tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED)
}

/// The order in which the elements are contiguous except for the stride of the slowest
/// axis, and that stride, in elements.
pub(super) fn pitched(
    tensor: &ImportedTensor,
    shape: &[i64],
    order: Option<Order>,
) -> Option<(Order, i64)> {
    let Some(order) = order else {
        let by_rows = pitched(tensor, shape, ROW_MAJOR);
        return by_rows.or_else(|| pitched(tensor, shape, COLUMN_MAJOR));
    };
    let mut room = [0; strides::MAX_NDIM];
    let strides = strides(tensor, shape, &mut room);
    let slowest = match order {
        Order::RowMajor => 0,
        Order::ColumnMajor => shape.len().saturating_sub(1),
    };
    let (Some(&dim), Some(&stride)) = (shape.get(slowest), strides.get(slowest)) else {
        return Some((order, 0));
    };
    // The stride that a contiguous tensor has.
    let others = shape.iter().enumerate().filter(|&(axis, _)| axis != slowest);
    let row = others.fold(1_i64, |row, (_, &dim)| row.saturating_mul(dim.max(1)));
    if tensor.numel() == 0 {
        return Some((order, row));
    }
    let compact = match order {
        Order::RowMajor => strides::is_row_major(shape.get(1..)?, strides.get(1..)?),
        Order::ColumnMajor => {
            strides::is_column_major(shape.get(..slowest)?, strides.get(..slowest)?)
        }
    };
    match dim {
        1 => compact.then_some((order, row)),
        _ => (compact && stride >= row).then_some((order, stride)),
    }
}

/// Size of all elements, in bytes.
pub(super) fn byte_len(tensor: &ImportedTensor) -> usize {
    // They have at most `isize::MAX` bytes.
    usize::try_from(tensor.nbytes()).unwrap_or(usize::MAX)
}
