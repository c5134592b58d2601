//! The error of an import into a type: [`ImportError`], and the requirement that a tensor does
//! not meet: [`Mismatch`], [`MismatchKind`]. Their texts are in `text`.

mod text;

#[cfg(feature = "pyo3")]
pub(crate) use text::{Advised, Fix, is_of_numpy, is_of_torch};

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use crate::describe::Order;
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;

/// The reason why a tensor could not be imported into a type
/// ([`DLPackImport`](crate::DLPackImport)).
///
/// ```
/// use dlpack_traits::{Error, ImportError};
///
/// let error = ImportError::rejected("the mask is empty");
/// assert_eq!(error.to_string(), "the mask is empty");
/// assert!(matches!(ImportError::from(Error::NotContiguous), ImportError::Tensor(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// The tensor is invalid, or its elements cannot be accessed as requested.
    Tensor(Error),
    /// The tensor does not meet a requirement of the type.
    Mismatch(Mismatch),
    /// The type's own validation rejected the value that was built.
    Rejected(Box<str>),
}

impl ImportError {
    /// Creates an error with the type's own reason.
    pub fn rejected(reason: impl fmt::Display) -> Self {
        Self::Rejected(reason.to_string().into_boxed_str())
    }
}

impl From<Error> for ImportError {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(error) => error.fmt(f),
            Self::Mismatch(requirement) => requirement.fmt(f),
            Self::Rejected(reason) => reason.fmt(f),
        }
    }
}

impl core::error::Error for ImportError {}

/// A requirement of a type that a tensor does not meet.
///
/// The text states what was expected and what was found. A Python exception (feature `pyo3`) also
/// states how to convert the tensor.
///
/// ```
/// use dlpack_traits::{DataType, Mismatch, MismatchKind};
///
/// let rank = Mismatch::new("Image", MismatchKind::Rank { needed: vec![3], found: 2 });
/// assert_eq!(rank.to_string(), "`Image`: expected 3 dimensions, got 2");
/// let dtype = MismatchKind::DType { needed: vec![DataType::U8], found: DataType::F32 };
/// let dtype = Mismatch::new("Image", dtype);
/// assert_eq!(dtype.to_string(), "`Image`: expected uint8, got float32");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    type_name: &'static str,
    unmet: MismatchKind,
}

/// The kind of a requirement, with the expected and the actual value.
///
/// It is the error of [`FromDims`](crate::FromDims), and becomes an [`ImportError`] by `?`, without
/// the name of a type.
///
/// ```
/// use dlpack_traits::{FromDims, ImportError, MismatchKind};
///
/// /// A list of at most eight dimensions, such as a `SmallVec`.
/// struct Shape(Vec<usize>);
///
/// impl FromDims for Shape {
///     fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
///         Vec::from_dims(dims).map(Self)
///     }
/// }
///
/// fn shape(dims: &[i64]) -> Result<Shape, ImportError> {
///     Ok(Shape::from_dims(dims)?)
/// }
/// assert_eq!(shape(&[2, 3])?.0, [2, 3]);
///
/// let error = <[u8; 1]>::from_dims(&[300]).unwrap_err();
/// assert_eq!(error.to_string(), "dimension 0 of the tensor is 300, which does not fit in `u8`");
/// # Ok::<(), ImportError>(())
/// ```
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
    /// Memory on one of these devices.
    Device {
        /// The accepted devices, as [`Device`] prints them, or their kinds, such as `cuda`; empty for
        /// any memory that the processor can read.
        needed: Vec<Cow<'static, str>>,
        /// The device of the memory.
        found: Device,
    },
    /// Memory that may be written.
    Writable,
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
    Contiguous {
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
    /// A stride of that size, which the type states as a constant.
    Stride {
        /// The axis.
        axis: usize,
        /// The required stride.
        needed: i64,
        /// The actual stride.
        found: i64,
        /// Whether both are in bytes; otherwise they are in elements.
        in_bytes: bool,
        /// The order in which a contiguous copy has that stride, if one has it.
        contiguous: Option<Order>,
    },
    /// A number that the type states as a constant.
    Number {
        /// The number, such as *offset*.
        number: MetadataField,
        /// Its required value.
        needed: i64,
        /// Its actual value.
        found: i64,
        /// Whether both are in bytes; otherwise they are in elements.
        in_bytes: bool,
    },
    /// No element before the first one, because the type has no field for an offset.
    /// Negative strides place elements there.
    NothingBefore {
        /// The first axis with such a stride.
        axis: usize,
        /// The stride, in elements.
        stride: i64,
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
    /// Creates a requirement of the type with that name; `""` for a type whose name is not known.
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

impl From<MismatchKind> for ImportError {
    fn from(unmet: MismatchKind) -> Self {
        Self::Mismatch(Mismatch::new("", unmet))
    }
}
