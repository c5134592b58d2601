//! The fields of a record, a struct that derives `Record`, without their types: [`RecordType`].

use core::fmt;

use crate::dtype::DataType;

/// The fields of a struct that derives `Record`: [`Element::RECORD`](crate::Element::RECORD).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use dlpack_traits::{Element, Record};
///
/// #[derive(Clone, Copy, Record)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     id: u32,
/// }
///
/// let record = Particle::RECORD.expect("a record");
/// assert_eq!((record.size(), record.fields()[1].offset()), (16, 12));
/// assert_eq!(record.to_string(), "{position: float32[3], id: uint32}");
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordType {
    pub(crate) size: usize,
    pub(crate) fields: &'static [FieldType],
}

impl RecordType {
    /// The size of a record, in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Whether a tensor is one of the bytes of such records. An implementation of `DLPackExport` can
    /// describe other memory than that of its storage, or a part of each record.
    #[cfg(feature = "pyo3")]
    pub(crate) fn is_of(&self, dtype: DataType, shape: &[i64], strides: &[i64]) -> bool {
        let bytes = shape.last().and_then(|&bytes| usize::try_from(bytes).ok());
        dtype == DataType::U8 && bytes == Some(self.size) && strides.last() == Some(&1)
    }

    /// The fields, in their order. Those with `#[dlpack(skip)]` are left out.
    pub const fn fields(&self) -> &'static [FieldType] {
        self.fields
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, field) in self.fields.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}: ", field.name)?;
            match field.record {
                Some(record) => record.fmt(f)?,
                None => field.dtype.fmt(f)?,
            }
            field.outer_axes().iter().try_for_each(|dim| write!(f, "[{dim}]"))?;
        }
        f.write_str("}")
    }
}

/// The name, the place and the type of a field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldType {
    pub(super) name: &'static str,
    pub(super) offset: usize,
    pub(super) dtype: DataType,
    pub(super) axes: &'static [i64],
    pub(super) record: Option<&'static RecordType>,
}

impl FieldType {
    /// The name of the field in Rust, without `r#`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Bytes from the start of the record to the field.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The type of the field, or of the parts of an array; `U8` for the bytes of a record.
    pub const fn dtype(&self) -> DataType {
        self.dtype
    }

    /// The axes of an array: [`Element::AXES`](crate::Element::AXES). The last axis of a record is that of its bytes.
    pub const fn axes(&self) -> &'static [i64] {
        self.axes
    }

    /// The fields of a field that is a record itself.
    pub const fn record(&self) -> Option<&'static RecordType> {
        self.record
    }

    /// The axes without that of the bytes of a record.
    pub(crate) fn outer_axes(&self) -> &'static [i64] {
        match self.axes {
            [outer @ .., _] if self.record.is_some() => outer,
            axes => axes,
        }
    }
}
