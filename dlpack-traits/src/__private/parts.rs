//! The items that expansions of `Element`, `Record`, `DataType` and `Storage` name.

pub use core::convert::TryFrom;
pub use core::default::Default;
pub use core::marker::{Copy, Send, Sync};
pub use core::mem::offset_of;
pub use core::option::Option;
pub use core::primitive::{bool, i64};
pub use core::result::Result;

pub use super::element::{Fields, Split, assert_any_bits, assert_element, field};
pub use super::import::{any_holds, axes_of_one, one_keeps_strides, which_holds};
pub use super::one_of::{first, last, rest, share_one_of, sharer, sharing};
pub use crate::dtype::DataType;
pub use crate::element::{Element, Field, FieldType, RecordType};
pub use crate::error::Error;
pub use crate::import::{ImportStorage, ImportedTensor, MismatchKind};
pub use crate::storage::{DataMut, DataRef, SharedOwner, Storage};
pub use crate::stream_arg::StreamArg;

// ---- DataType ----

/// Returns the type of elements that are stored with the most significant byte
/// first.
#[inline]
pub const fn big_endian(dtype: DataType) -> Result<DataType, Error> {
    if cfg!(target_endian = "big") { Ok(dtype) } else { Err(Error::NotNativeEndian) }
}

/// Returns the type of elements that are stored with the least significant byte
/// first.
#[inline]
pub const fn little_endian(dtype: DataType) -> Result<DataType, Error> {
    if cfg!(target_endian = "little") { Ok(dtype) } else { Err(Error::NotNativeEndian) }
}

/// Whether a variant has that type.
#[inline]
pub fn is(dtype: DataType, variant: Result<DataType, Error>) -> bool {
    variant == Ok(dtype)
}

/// Asserts that the types in a list are distinct, so that each stands for one
/// variant only.
///
/// # Panics
///
/// At compile time, if two types are equal.
#[expect(clippy::arithmetic_side_effects, reason = "at compile time, where it is an error")]
#[expect(clippy::indexing_slicing, reason = "at compile time, where it is an error")]
pub const fn assert_distinct(dtypes: &[DataType]) {
    let mut one = 0;
    while one < dtypes.len() {
        let mut other = one + 1;
        while other < dtypes.len() {
            let (a, b) = (dtypes[one], dtypes[other]);
            assert!(
                a.code().0 != b.code().0 || a.bits() != b.bits() || a.lanes() != b.lanes(),
                "two variants have one data type; write `#[dlpack(alias)]` above the second"
            );
            other += 1;
        }
        one += 1;
    }
}

// ---- Storage ----

/// The element type as which the bytes of a variant are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The type of the elements.
    pub dtype: DataType,
    /// Whether elements narrower than a byte take a byte each.
    pub padded: bool,
    /// The error for a storage that does not hold bytes.
    pub refusal: &'static Error,
}

/// [`Storage::data`] of a variant whose bytes are read as another type.
#[inline(always)]
pub fn data_as(data: DataRef<'_>, reading: Reading) -> DataRef<'_> {
    match data.with_dtype(reading.dtype) {
        Some(data) if reading.padded => data.into_padded(),
        Some(data) => data,
        None => DataRef::refused(reading.refusal),
    }
}

/// [`Storage::data_mut`] of a variant whose bytes are read as another type.
#[inline(always)]
pub fn data_mut_as(data: DataMut<'_>, reading: Reading) -> DataMut<'_> {
    data.map(|data| data_as(data, reading))
}

/// [`Storage::share`] of a variant that holds no data. It returns an owner
/// without memory, so that an export fails with this reason instead of an error
/// about the single owner of the storage.
pub fn share_nothing(reason: &'static Error) -> Option<SharedOwner> {
    struct Nothing(&'static Error);

    impl Storage for Nothing {
        fn data(&self) -> DataRef<'_> {
            DataRef::refused(self.0)
        }
    }

    SharedOwner::new(Nothing(reason))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn types_of_variants_are_distinct() {
        let is_distinct = |dtypes: &[DataType]| catch_unwind(|| assert_distinct(dtypes)).is_ok();
        let (a, b, c) = (DataType::F32, DataType::I32, DataType::F16);
        assert!(is_distinct(&[]) && is_distinct(&[a]) && is_distinct(&[a, b, c]));
        for same in [&[a, a][..], &[a, b, a], &[a, b, b], &[b, a, c, a], &[a, b, c, c]] {
            assert!(!is_distinct(same), "{same:?}");
        }
        assert!(is_distinct(&[a, a.with_lanes(2), DataType::F64, b]));
    }
}
