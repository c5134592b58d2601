//! The error for a tensor that does not meet a requirement of a type: [`Mismatch`],
//! [`MismatchKind`].

use alloc::vec::Vec;
use core::fmt;

use super::ImportError;
use crate::describe::Order;
use crate::device::Device;
use crate::dtype::DataType;

/// A requirement of a type that a tensor does not meet.
///
/// The text is for the user who passed the tensor, most likely in Python: where possible it
/// says how to convert the tensor.
///
/// ```
/// use dlpack_traits::{DataType, Mismatch, MismatchKind};
///
/// let rank = Mismatch::new("Image", MismatchKind::Rank { needed: vec![3], found: 2 });
/// assert_eq!(rank.to_string(), "the tensor has 2 dimensions, `Image` needs 3");
/// let dtype = MismatchKind::DType { needed: vec![DataType::U8], found: DataType::F32 };
/// assert_eq!(
///     Mismatch::new("Image", dtype).to_string(),
///     "the elements are float32, `Image` needs uint8; convert with \
///      `x.astype('uint8')` (NumPy) or `x.to(torch.uint8)` (PyTorch)",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    type_name: &'static str,
    unmet: MismatchKind,
}

/// The kind of a requirement, with the expected and the actual value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchKind {
    /// Elements of one of these types.
    DType {
        /// The accepted types.
        needed: Vec<DataType>,
        /// The type of the elements.
        found: DataType,
    },
    /// Memory on a device of one of these kinds.
    Device {
        /// The accepted kinds, by the names that [`Device`] prints; empty for any that the
        /// processor can read.
        needed: Vec<&'static str>,
        /// The device of the memory.
        found: Device,
    },
    /// One of these numbers of dimensions.
    Rank {
        /// The accepted numbers.
        needed: Vec<usize>,
        /// Dimensions found.
        found: usize,
    },
    /// No more dimensions than the type has room for.
    Room {
        /// The maximum number of dimensions.
        most: usize,
        /// Dimensions found.
        found: usize,
    },
    /// A dimension of that size.
    Dimension {
        /// The axis.
        axis: usize,
        /// The required size.
        needed: i64,
        /// The actual size.
        found: i64,
    },
    /// Two dimensions of equal size.
    EqualDims {
        /// The axes.
        axes: [usize; 2],
        /// Their sizes.
        found: [i64; 2],
    },
    /// That number of elements.
    Numel {
        /// The number.
        needed: usize,
        /// Elements found.
        found: i64,
    },
    /// Contiguous elements.
    Compact {
        /// The required order; `None` if both orders are accepted.
        order: Option<Order>,
        /// Whether the reason is that the type has no field for strides.
        no_strides: bool,
    },
    /// Elements that are contiguous except for the stride of the slowest axis (the pitch).
    Pitched {
        /// The required order; `None` if both orders are accepted.
        order: Option<Order>,
    },
    /// No element before the first one, because the type has no field for an offset.
    /// Negative strides place elements there.
    NothingBefore {
        /// The first axis with such a stride.
        axis: usize,
        /// The stride, in elements.
        stride: i64,
    },
    /// The first element at the start of the memory, because the type has no field for an
    /// offset. On a device without addresses the first element can be elsewhere.
    NoOffset {
        /// Bytes from the handle to the first element.
        found: u64,
    },
    /// Last dimensions that equal those of an element, for a copy into elements that are
    /// arrays.
    Axes {
        /// The required sizes.
        needed: &'static [i64],
    },
    /// For elements that are arrays, strides that are multiples of a whole element.
    WholeStrides {
        /// The first dimension whose stride is not.
        axis: usize,
        /// Its stride, in parts of an element.
        stride: i64,
        /// The sizes of the array that is an element.
        needed: &'static [i64],
    },
    /// Elements narrower than a byte, either padded to one byte each or packed.
    Padded {
        /// Whether they must be padded.
        needed: bool,
    },
    /// A number that fits in the type of its field.
    Fit {
        /// The number, such as *dimension 1* or *offset*.
        number: MetadataField,
        /// Its value.
        found: i64,
        /// The type of the field.
        int: &'static str,
    },
    /// The requirements of all variants of an enum, none of which accepts the tensor.
    Variant(Vec<(&'static str, ImportError)>),
}

/// A number of a tensor that a field stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataField {
    /// The size of that dimension.
    Dimension(usize),
    /// The stride of that dimension.
    Stride(usize),
    /// The stride of the slowest axis.
    Pitch,
    /// The distance from the start of the memory to the first element.
    Offset,
    /// The length of the memory that belongs to the tensor.
    Len,
    /// The number of dimensions.
    Rank,
}

impl Mismatch {
    /// Creates a requirement of the type with that name.
    pub const fn new(type_name: &'static str, unmet: MismatchKind) -> Self {
        Self { type_name, unmet }
    }

    /// The name of the type that has the requirement.
    pub const fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// The requirement itself.
    pub const fn unmet(&self) -> &MismatchKind {
        &self.unmet
    }
}

impl From<Mismatch> for ImportError {
    fn from(requirement: Mismatch) -> Self {
        Self::Mismatch(requirement)
    }
}

/// Advice for Python users: how to make a tensor contiguous.
const COMPACT: &str = "pass `numpy.ascontiguousarray(x)` (NumPy) or `x.contiguous()` (PyTorch)";

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.type_name;
        match &self.unmet {
            MismatchKind::DType { needed, found } => {
                let all = Either(needed);
                write!(f, "the elements are {found}, `{name}` needs {all}{}", cast(needed))
            }
            MismatchKind::Device { needed, found } => {
                let move_it = "move it to host memory first";
                match needed[..] {
                    [] => {
                        write!(f, "the tensor is on {found}, `{name}` needs host memory; {move_it}")
                    }
                    ["cpu"] => write!(f, "the tensor is on {found}, `{name}` needs cpu; {move_it}"),
                    _ => {
                        let all = Either(needed);
                        write!(f, "the tensor is on {found}, `{name}` needs {all}; move it there")
                    }
                }
            }
            MismatchKind::Rank { needed, found } => {
                let found = Count(*found);
                write!(f, "the tensor has {found}, `{name}` needs {}", Either(needed))
            }
            MismatchKind::Room { most, found } => {
                write!(f, "the tensor has {}, `{name}` has room for {most}", Count(*found))
            }
            MismatchKind::Dimension { axis, needed, found } => {
                write!(f, "dimension {axis} of the tensor is {found}, `{name}` needs {needed}")
            }
            MismatchKind::EqualDims { axes: [one, two], found: [first, second] } => write!(
                f,
                "dimensions {one} and {two} of the tensor are {first} and {second}, `{name}` needs \
                 them to be equal"
            ),
            MismatchKind::Numel { needed, found } => {
                write!(f, "the tensor has {found} elements, `{name}` needs {needed}")
            }
            MismatchKind::Compact { order, no_strides } => {
                let why = if *no_strides { "has no field for strides" } else { "needs them to be" };
                let (order, help) = match order {
                    None => ("", COMPACT),
                    Some(Order::RowMajor) => (" in row-major order", COMPACT),
                    Some(Order::ColumnMajor) => {
                        (" in column-major order", "pass `numpy.asfortranarray(x)`")
                    }
                };
                write!(f, "the elements are not contiguous{order}, and `{name}` {why}; {help}")
            }
            MismatchKind::Pitched { order } => {
                let (axes, help) = match order {
                    Some(Order::ColumnMajor) => {
                        ("but the last in column-major order", "pass `numpy.asfortranarray(x)`")
                    }
                    _ => ("but the first in row-major order", COMPACT),
                };
                write!(
                    f,
                    "the elements are not contiguous along every axis {axes}, as `{name}` needs \
                     them; {help}"
                )
            }
            MismatchKind::NothingBefore { axis, stride } => write!(
                f,
                "stride {axis} of the tensor is {stride}, and `{name}` has no field for the offset \
                 of the first element; {COMPACT}"
            ),
            MismatchKind::NoOffset { found } => write!(
                f,
                "the first element is {found} bytes behind the handle of its memory, and `{name}` \
                 has no field for the offset; pass a copy"
            ),
            MismatchKind::Axes { needed } => write!(
                f,
                "the last dimensions of the tensor are not {needed:?}, which `{name}` needs"
            ),
            MismatchKind::WholeStrides { axis, stride, needed } => {
                let parts = needed.iter().product::<i64>();
                write!(
                    f,
                    "stride {axis} of the tensor is {stride}, `{name}` needs a multiple of {parts}, \
                     the size of an element; {COMPACT}"
                )
            }
            MismatchKind::Padded { needed: true } => {
                write!(f, "the elements share bytes, `{name}` needs them to take one each")
            }
            MismatchKind::Padded { needed: false } => {
                write!(f, "the elements take a byte each, `{name}` needs them to share bytes")
            }
            MismatchKind::Fit { number, found, int } => {
                write!(
                    f,
                    "{number} of the tensor is {found}, which does not fit in the `{int}` of \
                     `{name}`"
                )?;
                if *found < 0 { write!(f, "; {COMPACT}") } else { Ok(()) }
            }
            MismatchKind::Variant(refusals) => of_variants(f, name, refusals),
        }
    }
}

/// Writes why each variant of an enum rejects the tensor.
fn of_variants(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    refusals: &[(&'static str, ImportError)],
) -> fmt::Result {
    write!(f, "no variant of `{name}` takes the tensor")?;
    refusals.iter().try_for_each(|(variant, refusal)| write!(f, "; `{variant}`: {refusal}"))
}

impl core::error::Error for Mismatch {}

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

/// A number of dimensions.
struct Count(usize);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 dimension"),
            count => write!(f, "{count} dimensions"),
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

/// Advice on how to cast to the first of these types, if NumPy or PyTorch has that type.
pub(crate) fn cast(needed: &[DataType]) -> impl fmt::Display {
    struct Cast(Option<DataType>);
    impl fmt::Display for Cast {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                Some(dtype) if NUMPY.contains(&dtype) => {
                    write!(
                        f,
                        "; convert with `x.astype('{dtype}')` (NumPy) or \
                         `x.to(torch.{dtype})` (PyTorch)"
                    )
                }
                Some(dtype) if TORCH.contains(&dtype) => {
                    write!(f, "; convert with `x.to(torch.{dtype})` (PyTorch)")
                }
                _ => Ok(()),
            }
        }
    }
    Cast(needed.first().copied())
}

/// The types that have the same name in NumPy (`astype`) and in PyTorch.
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
const TORCH: [DataType; 6] = [
    DataType::BF16,
    DataType::COMPLEX32,
    DataType::FLOAT8_E4M3FN,
    DataType::FLOAT8_E4M3FNUZ,
    DataType::FLOAT8_E5M2,
    DataType::FLOAT8_E5M2FNUZ,
];
