//! The items that expansions of `DLPackImport` name.
//!
//! An expansion lists the requirements of its type ([`Requirement`]), and then makes
//! each field from the parts of the tensor ([`Accepted`]), the data last. As for
//! an export, each role has a function, which is called with the span of the
//! field's type, to which the error points if the type does not fit.

mod accepted;
mod builders;
mod conversions;
mod requirements;
mod wrappers;

pub use core::default::Default;
pub use core::option::Option;
pub use core::primitive::{bool, i64};
pub use core::result::Result::{self, Err, Ok};

pub use crate::__private::{Field, OtherField, integer, number, reject_unmarked};
pub use crate::describe::Order;
pub use crate::device::Device;
pub use crate::dims::Dim;
pub use crate::dtype::DataType;
pub use crate::error::Error;
pub use crate::import::{
    Copies, DLPackImport, FromDims, FromElements, ImportError, ImportStorage, ImportedTensor,
    MetadataField, MismatchKind,
};

pub use accepted::{
    Accepted, Kept, Room, begin, byte_len, byte_offset, byte_pitch, byte_stride, byte_strides,
    device, dims, dtype, extent, len, ndim, offset, order, order_of_list, pitch, stated,
    stated_device, stated_pitch, stated_shape, stated_strides, stride, strides,
};
pub use builders::{
    Data, FromLayout, Layout, Shape, copied, copied_as, held, layout, meets, shape,
};
pub use conversions::{ConvertsFrom, Made, made_with};
pub use requirements::{
    ANY_ORDER, AxesOf, COLUMN_MAJOR, KeepsStrides, LayoutAccepts, ListedStride, ROW_MAJOR,
    Requirement, StrideUnit, accepts, order_of_strides,
};
pub use wrappers::{
    Copying, Holds, Variant, any_holds, axes_of_one, constructed, copies_of_one,
    copies_of_variants, one_keeps_strides, validated, variant, which_holds,
};
