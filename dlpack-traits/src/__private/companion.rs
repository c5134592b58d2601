//! What the expansions of the derives beside `DLPackExport` may name: those of
//! `Element`, `DataType` and `Storage`.

pub use core::convert::TryFrom;
pub use core::default::Default;
pub use core::marker::{Copy, Send, Sync};
pub use core::option::Option;
pub use core::primitive::{bool, i64};
pub use core::result::Result;

use crate::element::SizeMatches;
use crate::layout::MAX_NDIM;

pub use super::import::{any_holds, storage, which_holds};
pub use crate::dtype::DataType;
pub use crate::element::Element;
pub use crate::error::Error;
pub use crate::import::{ImportStorage, Imported, Unmet};
pub use crate::storage::{Data, DataRef, SharedOwner, Storage};
pub use crate::stream::StreamArg;

// ---- Element ----

/// What an element newtype holds: an element, or an array of such.
///
/// # Safety
///
/// An implementation promises 1 to 4 of [`Element`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a DLPack element type",
    label = "no DLPack data type code for this type",
    note = "an element newtype holds `bool`, `i8`-`i64`, `u8`-`u64`, `f32`, `f64`, `Complex<f32 or f64>`, another element newtype, or an array of one of these",
    note = "`half::f16` and `half::bf16` need the `half` feature of `dlpack-traits`"
)]
pub unsafe trait Parts: Copy + Send + Sync + 'static {
    /// The type of the innermost parts.
    const DTYPE: DataType;
    /// How many axes there are.
    const RANK: usize;
    /// The axes, and zeros behind them.
    const ROOM: &'static [i64; MAX_NDIM];
    /// The axes.
    const AXES: &'static [i64] = Self::ROOM.split_at(Self::RANK).0;
    /// Whether foreign code may write any bytes.
    const ANY_BITS: bool;
}

// SAFETY: the promises are those of `Element`, and are passed on.
#[diagnostic::do_not_recommend]
unsafe impl<T: Element> Parts for T {
    const DTYPE: DataType = T::DTYPE;
    const RANK: usize = T::AXES.len();
    const ROOM: &'static [i64; MAX_NDIM] = &room(None, T::AXES);
    const ANY_BITS: bool = T::ANY_BITS;
}

// SAFETY: an array is its elements one after the other, with nothing between
// them, so that it has each promised property if they do.
#[diagnostic::do_not_recommend]
unsafe impl<T: Parts, const N: usize> Parts for [T; N] {
    const DTYPE: DataType = T::DTYPE;
    const RANK: usize = T::RANK + 1;
    const ROOM: &'static [i64; MAX_NDIM] = &room(Some(N), T::AXES);
    const ANY_BITS: bool = T::ANY_BITS;
}

/// A dimension and axes behind it, with zeros up to the end.
#[expect(clippy::arithmetic_side_effects, reason = "at compile time, where it is an error")]
#[expect(clippy::indexing_slicing, reason = "at compile time, where it is an error")]
const fn room(first: Option<usize>, axes: &[i64]) -> [i64; MAX_NDIM] {
    let mut room = [0; MAX_NDIM];
    let mut filled = 0;
    if let Some(dim) = first {
        #[expect(clippy::cast_possible_wrap, reason = "no array is longer than `isize::MAX`")]
        let dim = dim as i64;
        room[0] = dim;
        filled = 1;
    }
    let mut next = 0;
    while next < axes.len() {
        room[filled + next] = axes[next];
        next += 1;
    }
    room
}

/// What a newtype is a newtype of. The bound is asked for here, once; the
/// functions below take it from here.
pub trait Wraps<Here>: Sized {
    /// The field, or an array as long as there are fields.
    type Inner: Parts;
    /// The type of each field.
    type Field;

    /// Never called: it proves that the fields have the type which the derive
    /// saw, also after other macros have worked on the struct.
    fn fields(&self, see: fn(&Self::Field));
}

/// [`Element::DTYPE`] of a newtype.
///
/// # Panics
///
/// At compile time, if the newtype has more memory than its parts.
pub const fn dtype<Here, S: Wraps<Here>>() -> DataType {
    // What the derive was told to leave out has no size. Whoever describes
    // memory of this element names `DTYPE`, so this is proven then.
    assert!(
        size_of::<S>() == size_of::<S::Inner>(),
        "the fields of an element that are left out must have no size"
    );
    S::Inner::DTYPE
}

/// [`Element::AXES`] of a newtype.
pub const fn axes<Here, S: Wraps<Here>>() -> &'static [i64] {
    S::Inner::AXES
}

/// [`Element::DTYPE`] of a newtype whose parts are lanes.
///
/// # Panics
///
/// At compile time, if it holds no array, or a longer one than there are lanes.
pub const fn lanes<Here, S: Wraps<Here>>() -> DataType {
    let mut axes = S::Inner::AXES;
    assert!(!axes.is_empty(), "`#[dlpack(lanes)]` needs an array, such as `[f32; 4]`");
    let part = dtype::<Here, S>();
    let mut lanes = part.lanes() as i64;
    while let Some((&dim, rest)) = axes.split_first() {
        lanes = lanes.saturating_mul(dim);
        axes = rest;
    }
    assert!(0 < lanes && lanes <= u16::MAX as i64, "an element has 1 to 65,535 lanes");
    #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
    #[expect(clippy::cast_sign_loss, reason = "asserted above")]
    part.with_lanes(lanes as u16)
}

/// [`Element::ANY_BITS`] of a newtype that says `any_bits`.
///
/// # Panics
///
/// At compile time, if what it holds says otherwise.
pub const fn any_bits<Here, S: Wraps<Here>>() -> bool {
    assert!(
        S::Inner::ANY_BITS,
        "`#[dlpack(any_bits)]` needs a field for which every pattern of bits is a value"
    );
    true
}

/// Asserts the promises of an element that its constants have to keep, here
/// instead of where the type is first used.
pub const fn assert_element<T: Element>() {
    let () = SizeMatches::<T>::OK;
    let _ = T::ANY_BITS;
}

// ---- DataType ----

/// The type of elements that are stored with the most significant byte first.
#[inline]
pub const fn big_endian(dtype: DataType) -> Result<DataType, Error> {
    if cfg!(target_endian = "big") { Ok(dtype) } else { Err(Error::NotNativeEndian) }
}

/// The type of elements that are stored with the least significant byte first.
#[inline]
pub const fn little_endian(dtype: DataType) -> Result<DataType, Error> {
    if cfg!(target_endian = "little") { Ok(dtype) } else { Err(Error::NotNativeEndian) }
}

/// Whether a type is that of a variant.
#[inline]
pub fn is(dtype: DataType, variant: Result<DataType, Error>) -> bool {
    variant == Ok(dtype)
}

/// Asserts that no two of a list of types are one, so that each stands for one
/// variant only.
///
/// # Panics
///
/// At compile time, if two are.
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

/// The storage in a variant. The bound is asked for here, once for each
/// variant, and the functions below take it from here.
pub trait Variant<Here, const N: usize> {
    /// The type of the field.
    type Data: Storage;
}

/// As what the bytes of a variant are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The type of the elements.
    pub dtype: DataType,
    /// Whether elements narrower than a byte take a byte each.
    pub padded: bool,
    /// What to say where there are no bytes.
    pub refusal: &'static Error,
}

/// [`Storage::data`] of a variant.
#[inline]
pub fn data<Here, const N: usize, S: Variant<Here, N> + ?Sized>(data: &S::Data) -> DataRef<'_> {
    data.data()
}

/// [`Storage::data`] of a variant whose bytes are read as something else.
#[inline]
pub fn data_as<Here, const N: usize, S: Variant<Here, N> + ?Sized>(
    data: &S::Data,
    reading: Reading,
) -> DataRef<'_> {
    match data.data().with_dtype(reading.dtype) {
        Some(data) if reading.padded => data.into_padded(),
        Some(data) => data,
        None => DataRef::refused(reading.refusal),
    }
}

/// [`Storage::lend`] of a variant.
#[inline]
pub fn lend<Here, const N: usize, S: Variant<Here, N> + ?Sized>(data: &mut S::Data) -> Data<'_> {
    data.lend()
}

/// [`Storage::lend`] of a variant whose bytes are read as something else.
#[inline]
pub fn lend_as<Here, const N: usize, S: Variant<Here, N> + ?Sized>(
    data: &mut S::Data,
    reading: Reading,
) -> Data<'_> {
    match data.lend().with_dtype(reading.dtype) {
        Some(data) if reading.padded => data.into_padded(),
        Some(data) => data,
        None => DataRef::refused(reading.refusal).into(),
    }
}

/// [`Storage::hand_off`] of a variant.
#[inline]
pub fn hand_off<Here, const N: usize, S: Variant<Here, N> + ?Sized>(
    data: &S::Data,
    consumer: StreamArg<'_>,
) -> Result<(), Error> {
    data.hand_off(consumer)
}

/// [`Storage::share`] of a variant.
#[inline]
pub fn share<Here, const N: usize, S: Variant<Here, N> + ?Sized>(
    data: &S::Data,
) -> Option<SharedOwner> {
    data.share()
}

/// [`Storage::share`] of a variant that holds no data: a handle to nothing, so
/// that an export gets this reason, and not that the storage has one owner.
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

    /// What expansions ask at compile time, asked now.
    #[test]
    fn axes_stand_behind_dimensions() {
        let some = |dims: &[i64]| {
            let mut room = [0; MAX_NDIM];
            room[..dims.len()].copy_from_slice(dims);
            room
        };
        assert_eq!(room(None, &[]), some(&[]));
        assert_eq!(room(None, &[3, 2]), some(&[3, 2]));
        assert_eq!(room(Some(4), &[]), some(&[4]));
        assert_eq!(room(Some(4), &[3, 2]), some(&[4, 3, 2]));
        assert_eq!(<[[f32; 2]; 3] as Parts>::RANK, 2);
        assert_eq!(<[[f32; 2]; 3] as Parts>::ROOM, &some(&[3, 2]));
    }

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

    #[test]
    fn any_bits_is_not_only_said() {
        struct Number(f32);
        struct Switch(bool);
        impl Wraps<()> for Number {
            type Inner = f32;
            type Field = f32;
            fn fields(&self, see: fn(&f32)) {
                see(&self.0);
            }
        }
        impl Wraps<()> for Switch {
            type Inner = bool;
            type Field = bool;
            fn fields(&self, see: fn(&bool)) {
                see(&self.0);
            }
        }
        assert!(any_bits::<(), Number>());
        assert!(catch_unwind(any_bits::<(), Switch>).is_err());
        Number(1.0).fields(|_| {});
        Switch(true).fields(|_| {});
    }
}
