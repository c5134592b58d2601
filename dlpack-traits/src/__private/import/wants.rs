//! What a type needs of a tensor: [`Want`].

use alloc::vec;

use super::{DataType, ImportError, Imported, Order};
use crate::describe::stored_bits;
use crate::flags::Flags;
use crate::import::{Requirement, Unmet};
use crate::layout;

/// The order of [`Want::Compact`] and [`Want::Pitched`].
pub const ROW_MAJOR: Option<Order> = Some(Order::RowMajor);
/// Likewise.
pub const COLUMN_MAJOR: Option<Order> = Some(Order::ColumnMajor);
/// Likewise: any of the two.
pub const ANY_ORDER: Option<Order> = None;

/// One thing that a type needs of a tensor.
#[derive(Debug)]
pub enum Want<'a> {
    /// An element type out of these.
    DType(&'a [DataType]),
    /// A kind of device out of these.
    Device(&'a [&'static str]),
    /// A number of dimensions out of these.
    Rank(&'a [usize]),
    /// No more dimensions than there is room for, if the room is limited.
    Room(Option<usize>),
    /// As many dimensions as there is room for, if the room is limited.
    Filled(Option<usize>),
    /// A dimension of that size.
    Dimension(usize, Option<i64>),
    /// Two dimensions of one size.
    Equal(usize, usize),
    /// Compact elements, because somebody said so.
    Contiguous(Option<Order>),
    /// Compact elements, for want of strides.
    Compact(Option<Order>),
    /// Compact elements but for the step of the slowest axis.
    Pitched(Option<Order>),
    /// No elements in front of the first one.
    NothingBefore,
    /// Nothing at all in front of it.
    NoOffset,
    /// Elements narrower than a byte that take one each, or that do not.
    Padded(bool),
    /// Whatever the type of the data needs, each element of which has the axes that the
    /// second function returns.
    Data(fn(&Imported) -> Result<(), Unmet>, AxesOf),
    /// Whatever the type of the layout needs, of a copy or not.
    Layout(LayoutAccepts, bool),
}

/// The axes of each element, if a tensor is accepted.
pub type AxesOf = fn(&Imported) -> &'static [i64];

/// Whether a layout can be that of a tensor: of which dimensions, and whether of
/// a copy.
pub type LayoutAccepts = fn(&Imported, &[i64], bool) -> Result<(), Unmet>;

/// Whether a tensor is all that is wanted of it.
pub fn accepts(
    tensor: &Imported,
    name: &'static str,
    wants: &[Want<'_>],
) -> Result<(), ImportError> {
    let mut shape = tensor.shape();
    for want in wants {
        if let Err(unmet) = want.meets(tensor, shape) {
            return Err(Requirement::new(name, unmet).into());
        }
        if let Want::Data(_, axes) = want {
            // What fields say is about elements of that type.
            shape = outer(shape, axes(tensor));
        }
    }
    Ok(())
}

/// The dimensions in front of the axes of each element.
#[inline]
pub(super) fn outer<'a>(shape: &'a [i64], axes: &[i64]) -> &'a [i64] {
    shape.get(..shape.len().saturating_sub(axes.len())).unwrap_or(shape)
}

/// Whether the last dimensions of a tensor are those axes, one after the other, and all
/// strides in front of them are whole elements.
#[inline]
pub(super) fn has_axes(tensor: &Imported, axes: &'static [i64]) -> Result<(), Unmet> {
    if axes.is_empty() { Ok(()) } else { has_inner_axes(tensor, axes) }
}

fn has_inner_axes(tensor: &Imported, axes: &'static [i64]) -> Result<(), Unmet> {
    let shape = outer(tensor.shape(), axes);
    let (outer, inner) = tensor.strides().split_at(shape.len());
    if !tensor.shape().ends_with(axes) {
        return Err(Unmet::Axes { needed: axes });
    }
    if !layout::is_row_major(axes, inner) {
        return Err(Unmet::Compact { order: ROW_MAJOR, no_strides: false });
    }
    let parts: i64 = axes.iter().product();
    let is_whole = |(&dim, &stride): (&i64, &i64)| dim <= 1 || stride.checked_rem(parts) == Some(0);
    match shape.iter().zip(outer).enumerate().find(|&(_, entry)| !is_whole(entry)) {
        Some((found, (_, &stride))) if tensor.numel() != 0 => {
            Err(Unmet::WholeStrides { axis: found, stride, needed: axes })
        }
        _ => Ok(()),
    }
}

/// The strides in front of the axes of each element, in such elements: of the dimensions
/// `shape`, which are the first ones of the tensor.
pub(super) fn strides<'a>(
    tensor: &'a Imported,
    shape: &[i64],
    room: &'a mut [i64; layout::MAX_NDIM],
) -> &'a [i64] {
    match tensor.shape().get(shape.len()..) {
        None | Some([]) => tensor.strides(),
        Some(axes) => {
            let parts: i64 = axes.iter().product();
            let room = room.get_mut(..shape.len()).unwrap_or_default();
            for (to, &stride) in room.iter_mut().zip(tensor.strides()) {
                // Those that are not whole are of one element, or of none.
                *to = stride.checked_div(parts).unwrap_or(0);
            }
            room
        }
    }
}

/// `Ok` if a need is met. What was found is put together only if it is not: it has a
/// destructor, which the other values would run too (measured: 5 ns an import).
#[inline(always)]
fn met_or(met: bool, unmet: impl FnOnce() -> Unmet) -> Result<(), Unmet> {
    if met { Ok(()) } else { Err(unmet()) }
}

impl Want<'_> {
    /// Whether it is about strides that the elements of a copy do not have.
    pub(super) fn is_about_strides(&self) -> bool {
        matches!(self, Self::Compact(_) | Self::Pitched(_) | Self::NothingBefore | Self::NoOffset)
    }

    #[inline(always)]
    pub(super) fn meets(&self, tensor: &Imported, shape: &[i64]) -> Result<(), Unmet> {
        let rank = shape.len();
        match *self {
            Self::DType(needed) => {
                let found = tensor.dtype();
                met_or(needed.contains(&found), || Unmet::DType { needed: needed.to_vec(), found })
            }
            Self::Device(needed) => {
                let found = tensor.device();
                let is = |kind: &&str| found.kind_name() == Some(*kind);
                let met = needed.iter().any(is);
                met_or(met, || Unmet::Device { needed: needed.to_vec(), found })
            }
            Self::Rank(needed) => {
                let met = needed.contains(&rank);
                met_or(met, || Unmet::Rank { needed: needed.to_vec(), found: rank })
            }
            Self::Room(None) | Self::Filled(None) => Ok(()),
            Self::Room(Some(most)) => met_or(rank <= most, || Unmet::Room { most, found: rank }),
            Self::Filled(Some(exact)) => {
                met_or(rank == exact, || Unmet::Rank { needed: vec![exact], found: rank })
            }
            Self::Dimension(axis, needed) => match (shape.get(axis), needed) {
                (Some(&found), Some(needed)) => {
                    met_or(found == needed, || Unmet::Dimension { axis, needed, found })
                }
                // A constant that does not fit is more than any tensor has.
                (Some(&found), None) => Err(Unmet::Dimension { axis, needed: i64::MAX, found }),
                (None, _) => Ok(()),
            },
            Self::Equal(one, two) => match (shape.get(one), shape.get(two)) {
                (Some(&first), Some(&second)) => met_or(first == second, || Unmet::EqualDims {
                    axes: [one, two],
                    found: [first, second],
                }),
                _ => Ok(()),
            },
            Self::Contiguous(order) => {
                let compact = is_compact(tensor, shape, order);
                met_or(compact, || Unmet::Compact { order, no_strides: false })
            }
            Self::Compact(order) => {
                let compact = is_compact(tensor, shape, order);
                met_or(compact, || Unmet::Compact { order, no_strides: true })
            }
            Self::Pitched(order) => {
                met_or(pitched(tensor, shape, order).is_some(), || Unmet::Pitched { order })
            }
            Self::NothingBefore => nothing_before(tensor),
            Self::NoOffset => {
                let found = tensor.byte_offset();
                nothing_before(tensor)?;
                met_or(found == 0, || Unmet::NoOffset { found })
            }
            Self::Padded(needed) => {
                let narrow = tensor.dtype().element_bits() % 8 != 0;
                met_or(!narrow || is_padded(tensor) == needed, || Unmet::Padded { needed })
            }
            Self::Data(accepts, _) => accepts(tensor),
            Self::Layout(accepts, copied) => accepts(tensor, shape, copied),
        }
    }
}

/// Whether no element lies in front of the first one.
fn nothing_before(tensor: &Imported) -> Result<(), Unmet> {
    let before = tensor.byte_range().start < 0;
    let negative = || tensor.strides().iter().position(|&stride| stride < 0);
    match before.then(negative).flatten() {
        None => Ok(()),
        Some(axis) => {
            let stride = tensor.strides().get(axis).copied().unwrap_or(0);
            Err(Unmet::NothingBefore { axis, stride })
        }
    }
}

fn is_compact(tensor: &Imported, shape: &[i64], order: Option<Order>) -> bool {
    let mut room = [0; layout::MAX_NDIM];
    let strides = strides(tensor, shape, &mut room);
    let (by_rows, by_columns) = (layout::is_row_major, layout::is_column_major);
    match order {
        Some(Order::RowMajor) => by_rows(shape, strides),
        Some(Order::ColumnMajor) => by_columns(shape, strides),
        None => by_rows(shape, strides) || by_columns(shape, strides),
    }
}

pub(super) fn is_padded(tensor: &Imported) -> bool {
    tensor.flags().contains(Flags::IS_SUBBYTE_TYPE_PADDED)
}

/// The order in which the elements are compact but for the step of the slowest
/// axis, and that step, in elements.
pub(super) fn pitched(
    tensor: &Imported,
    shape: &[i64],
    order: Option<Order>,
) -> Option<(Order, i64)> {
    let Some(order) = order else {
        let by_rows = pitched(tensor, shape, ROW_MAJOR);
        return by_rows.or_else(|| pitched(tensor, shape, COLUMN_MAJOR));
    };
    let mut room = [0; layout::MAX_NDIM];
    let strides = strides(tensor, shape, &mut room);
    let slowest = match order {
        Order::RowMajor => 0,
        Order::ColumnMajor => shape.len().saturating_sub(1),
    };
    let (Some(&dim), Some(&stride)) = (shape.get(slowest), strides.get(slowest)) else {
        return Some((order, 0));
    };
    // As the strides of a compact tensor are computed.
    let others = shape.iter().enumerate().filter(|&(axis, _)| axis != slowest);
    let row = others.fold(1_i64, |row, (_, &dim)| row.saturating_mul(dim.max(1)));
    if tensor.numel() == 0 {
        return Some((order, row));
    }
    let compact = match order {
        Order::RowMajor => layout::is_row_major(shape.get(1..)?, strides.get(1..)?),
        Order::ColumnMajor => {
            layout::is_column_major(shape.get(..slowest)?, strides.get(..slowest)?)
        }
    };
    match dim {
        1 => compact.then_some((order, row)),
        _ => (compact && stride >= row).then_some((order, stride)),
    }
}

/// Bytes of all elements together.
pub(super) fn byte_len(tensor: &Imported) -> usize {
    let bits = i128::from(stored_bits(tensor.dtype(), is_padded(tensor)));
    // They have at most `isize::MAX` bytes.
    let bits = bits.saturating_mul(tensor.numel().into());
    usize::try_from(bits.saturating_add(7) >> 3).unwrap_or(usize::MAX)
}
