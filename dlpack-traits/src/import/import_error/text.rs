//! The texts of [`Mismatch`], for structs that derive `DLPackImport`: what is wrong with the tensor,
//! and a [`Fix`]. Those of `PyTensor` are in `python/argument/mismatch.rs`.

use core::fmt;

use super::{ImportError, MetadataField, Mismatch, MismatchKind};
use crate::describe::Order;
use crate::dtype::DataType;
use crate::import::cast::best_of;

/// A change that makes a tensor acceptable. `Display` of an error does not show it: each Python
/// library has an expression of its own (`python/convert.rs`, `python/import/advice.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// Elements of this type.
    Cast(DataType),
    /// A contiguous copy in this order.
    Contiguous(Order),
}

impl MismatchKind {
    /// The change that meets the requirement, if one does.
    pub(crate) fn fix(&self) -> Option<Fix> {
        match self {
            Self::DType { needed, found } => best_of(*found, needed).map(Fix::Cast),
            Self::Contiguous { order, .. } | Self::Pitched { order } => {
                Some(Fix::Contiguous(order.unwrap_or(Order::RowMajor)))
            }
            Self::Stride { contiguous, .. } => contiguous.map(Fix::Contiguous),
            Self::NothingBefore { .. } | Self::WholeStrides { .. } => {
                Some(Fix::Contiguous(Order::RowMajor))
            }
            Self::Fit { found, .. } if *found < 0 => Some(Fix::Contiguous(Order::RowMajor)),
            _ => None,
        }
    }
}

/// Writes a fix, or nothing.
type Advise<'a> = &'a dyn Fn(&mut fmt::Formatter<'_>, Fix) -> fmt::Result;

/// An error with fixes.
#[cfg(feature = "pyo3")]
pub(crate) struct Advised<'a, F> {
    pub(crate) error: &'a ImportError,
    pub(crate) advise: F,
}

#[cfg(feature = "pyo3")]
impl<F: Fn(&mut fmt::Formatter<'_>, Fix) -> fmt::Result> fmt::Display for Advised<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.write(f, &self.advise)
    }
}

impl ImportError {
    fn write(&self, f: &mut fmt::Formatter<'_>, advise: Advise<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => mismatch.write(f, advise),
            other => fmt::Display::fmt(other, f),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|_, _| Ok(()))
    }
}

impl fmt::Display for MismatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "", &|_, _| Ok(()))
    }
}

impl Mismatch {
    fn write(&self, f: &mut fmt::Formatter<'_>, advise: Advise<'_>) -> fmt::Result {
        self.unmet().write(f, self.type_name(), advise)
    }
}

/// The type with the requirement, at the start of a text; nothing if it has no name.
struct Subject<'a> {
    name: &'a str,
    /// What it does not have.
    lacks: &'a str,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, lacks } = self;
        if name.is_empty() { Ok(()) } else { write!(f, "`{name}`{lacks}: ") }
    }
}

impl MismatchKind {
    /// Writes the text, and the fix of each requirement. The name is empty if it is not known.
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, advise: Advise<'_>) -> fmt::Result {
        if let MismatchKind::Variant(refusals) = self {
            return of_variants(f, name, refusals, advise);
        }
        self.describe(f, name)?;
        match self.fix() {
            Some(fix) => advise(f, fix),
            None => Ok(()),
        }
    }

    /// Writes what was expected, and what was found.
    fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let lacks = match self {
            Self::Contiguous { no_strides: true, .. } => " has no field for strides",
            Self::NothingBefore { .. } => " has no field for the offset of the first element",
            _ => "",
        };
        let subject = Subject { name, lacks };
        match self {
            MismatchKind::DType { needed, found } => {
                let all = Either(needed);
                write!(f, "{subject}expected {all}, got {found}")
            }
            MismatchKind::Device { needed, found } => {
                let all = Either(needed);
                let expected: &dyn fmt::Display =
                    if all.0.is_empty() { &"host memory" } else { &all };
                let is_host = needed.iter().all(|name| name == "cpu");
                let place = if is_host { "to host memory first" } else { "there" };
                write!(f, "{subject}expected {expected}, got {found}; move it {place}")
            }
            MismatchKind::Writable => {
                write!(f, "{subject}expected memory that may be written, got read-only memory")
            }
            MismatchKind::Rank { needed, found } => {
                let s = if needed[..] == [1] { "" } else { "s" };
                write!(f, "{subject}expected {} dimension{s}, got {found}", Either(needed))
            }
            MismatchKind::Room { most, found } => {
                let s = if *most == 1 { "" } else { "s" };
                write!(f, "{subject}expected at most {most} dimension{s}, got {found}")
            }
            MismatchKind::Dimension { axis, needed, found } => {
                write!(f, "{subject}expected dimension {axis} to be {needed}, got {found}")
            }
            MismatchKind::EqualDims { axes: [one, two], found: [first, second] } => write!(
                f,
                "{subject}expected dimensions {one} and {two} to be equal, got {first} and \
                 {second}"
            ),
            MismatchKind::Numel { needed, found } => {
                write!(f, "{subject}expected {needed} elements, got {found}")
            }
            MismatchKind::Contiguous { order, .. } => {
                let order = match order {
                    None => "",
                    Some(Order::RowMajor) => " in row-major order",
                    Some(Order::ColumnMajor) => " in column-major order",
                };
                write!(f, "{subject}expected contiguous elements{order}, got other strides")
            }
            MismatchKind::Pitched { order } => {
                let axes = match order {
                    Some(Order::ColumnMajor) => "but the last in column-major order",
                    _ => "but the first in row-major order",
                };
                write!(
                    f,
                    "{subject}expected elements that are contiguous along every axis {axes}, got \
                     other strides"
                )
            }
            MismatchKind::Stride { axis, needed, found, in_bytes, .. } => {
                let unit = unit(*in_bytes, *needed);
                write!(f, "{subject}expected stride {axis} to be {needed}{unit}, got {found}")
            }
            MismatchKind::Number { number, needed, found, in_bytes } => {
                let unit = unit(*in_bytes, *needed);
                write!(f, "{subject}expected {number} to be {needed}{unit}, got {found}")
            }
            MismatchKind::NothingBefore { axis, stride } => write!(
                f,
                "{subject}expected stride {axis} \
                 to be at least 0, got {stride}"
            ),
            MismatchKind::Axes { needed } => {
                write!(f, "{subject}expected {needed:?} as the last dimensions, got others")
            }
            MismatchKind::WholeStrides { axis, stride, needed } => {
                let parts = needed.iter().product::<i64>();
                write!(
                    f,
                    "{subject}expected stride {axis} to be a multiple of {parts}, the size of an \
                     element, got {stride}"
                )
            }
            MismatchKind::Padded { needed } => {
                let [each, shared] =
                    ["elements that take a byte each", "elements that share bytes"];
                let (expected, got) = if *needed { (each, shared) } else { (shared, each) };
                write!(f, "{subject}expected {expected}, got {got}")
            }
            MismatchKind::Fit { number, found, int } => {
                write!(f, "{number} of the tensor is {found}, which does not fit in ")?;
                match name {
                    "" => write!(f, "`{int}`"),
                    _ => write!(f, "the `{int}` of `{name}`"),
                }
            }
            MismatchKind::Variant(_) => no_variant(f, name),
        }
    }
}

/// The unit after a number of bytes.
fn unit(in_bytes: bool, number: i64) -> &'static str {
    match (in_bytes, number) {
        (false, _) => "",
        (true, 1) => " byte",
        (true, _) => " bytes",
    }
}

/// Writes why each variant of an enum rejects the tensor.
fn of_variants(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    refusals: &[(&'static str, ImportError)],
    advise: Advise<'_>,
) -> fmt::Result {
    no_variant(f, name)?;
    refusals.iter().try_for_each(|(variant, refusal)| {
        write!(f, "; `{variant}`: ")?;
        refusal.write(f, advise)
    })
}

fn no_variant(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    match name {
        "" => f.write_str("no variant accepts the tensor"),
        _ => write!(f, "no variant of `{name}` accepts the tensor"),
    }
}

impl core::error::Error for Mismatch {}

impl core::error::Error for MismatchKind {}

impl fmt::Display for MetadataField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dimension(axis) => write!(f, "dimension {axis}"),
            Self::Stride(axis) => write!(f, "stride {axis}"),
            Self::Pitch => f.write_str("the pitch"),
            Self::Offset => f.write_str("the offset"),
            Self::Len => f.write_str("the length"),
            Self::Rank => f.write_str("the number of dimensions"),
        }
    }
}

/// A list of the accepted values.
struct Either<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Either<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.len().saturating_sub(1);
        for (place, item) in self.0.iter().enumerate() {
            match place {
                0 => {}
                _ if place == last => f.write_str(" or ")?,
                _ => f.write_str(", ")?,
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// Whether NumPy has this type, under the same name.
#[cfg(feature = "pyo3")]
pub(crate) fn is_of_numpy(dtype: DataType) -> bool {
    NUMPY.contains(&dtype)
}

/// Whether PyTorch has this type, under the same name.
#[cfg(feature = "pyo3")]
pub(crate) fn is_of_torch(dtype: DataType) -> bool {
    NUMPY.contains(&dtype) || TORCH.contains(&dtype)
}

/// The types that have the same name in NumPy (`astype`) and in PyTorch.
#[cfg(feature = "pyo3")]
const NUMPY: [DataType; 14] = [
    DataType::I8,
    DataType::I16,
    DataType::I32,
    DataType::I64,
    DataType::U8,
    DataType::U16,
    DataType::U32,
    DataType::U64,
    DataType::F16,
    DataType::F32,
    DataType::F64,
    DataType::COMPLEX64,
    DataType::COMPLEX128,
    DataType::BOOL,
];

/// Types that PyTorch has under these names, and NumPy does not.
#[cfg(feature = "pyo3")]
const TORCH: [DataType; 6] = [
    DataType::BF16,
    DataType::COMPLEX32,
    DataType::FLOAT8_E4M3FN,
    DataType::FLOAT8_E4M3FNUZ,
    DataType::FLOAT8_E5M2,
    DataType::FLOAT8_E5M2FNUZ,
];

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// A tensor of any other shape, device or type is another tensor: there is no fix.
    #[test]
    fn a_fix_is_a_cast_or_a_contiguous_copy() {
        let (row, column) = (Order::RowMajor, Order::ColumnMajor);
        let (rows, columns) = (Some(Fix::Contiguous(row)), Some(Fix::Contiguous(column)));
        let dtype = |needed| MismatchKind::DType { needed, found: DataType::U8 };
        let contiguous = |order| MismatchKind::Contiguous { order, no_strides: false };
        let pitched = |order| MismatchKind::Pitched { order };
        let stride = |contiguous| {
            let (axis, needed, found, in_bytes) = (0, 1, 2, false);
            MismatchKind::Stride { axis, needed, found, in_bytes, contiguous }
        };
        let fit = |found| MismatchKind::Fit { number: MetadataField::Stride(0), found, int: "u8" };
        for (kind, expected) in [
            (dtype(vec![DataType::F32, DataType::F64]), Some(Fix::Cast(DataType::F32))),
            (dtype(vec![]), None),
            (contiguous(None), rows),
            (contiguous(Some(row)), rows),
            (contiguous(Some(column)), columns),
            (pitched(None), rows),
            (pitched(Some(column)), columns),
            (stride(None), None),
            (stride(Some(row)), rows),
            (stride(Some(column)), columns),
            (MismatchKind::NothingBefore { axis: 0, stride: -1 }, rows),
            (MismatchKind::WholeStrides { axis: 0, stride: 4, needed: &[3] }, rows),
            (fit(-1), rows),
            (fit(0), None),
            (fit(256), None),
            (MismatchKind::Writable, None),
            (MismatchKind::Rank { needed: vec![2], found: 1 }, None),
            (MismatchKind::Axes { needed: &[3] }, None),
            (MismatchKind::Padded { needed: true }, None),
        ] {
            assert_eq!(kind.fix(), expected, "{kind}");
        }
    }
}
