//! The proof behind `#[derive(Element)]` and `#[derive(Record)]`: [`Fields`], and [`Element`] for
//! every type that implements it.
//!
//! An expansion cannot name an item of this crate reliably. Its paths start with
//! `crate = path` or with `::dlpack_traits`, and the user decides what both refer to. The
//! expansion therefore implements one trait, which is defined here, and contributes three
//! things that need no path: a `bool` literal, the type of an array whose length is a
//! literal, and a function that destructures the struct. Everything else (element type,
//! axes, size, valid bits) is computed here, from the type of that function. If the path
//! resolves to a trait of another crate, the expansion implements that trait, and not
//! [`Element`].

use core::marker::PhantomData;

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::dtype::DataType;
use crate::element::{AnyBits, Element, Field, FieldType, Readable, RecordType, SizeMatches};

/// A struct whose memory is one or several fields of one type, or a record.
///
/// # Safety
///
/// An implementation promises that
/// 1. `Self` is a struct, and `fields` returns `(parts, markers)`: `parts` is an
///    array with a pointer to each field that is memory of the element, and
///    `markers` is a list `(*mut A, (*mut B, ()))` with a pointer to each other
///    field; of a record, `fields` returns such a list of all fields. No field is
///    left out. Each pointer has exactly the type of its
///    field: it comes from a reference to the field without a coercion that
///    changes the type behind it;
/// 2. if `AnyBits` is `[(); 1]`, the type has no invariant of its own, so that every value
///    of its fields is valid.
pub unsafe trait Fields: Copy + Send + Sync + 'static {
    /// Whether the entries of the array are lanes of one element.
    const LANES: bool;
    /// `[(); 1]` if the struct adds no invariant to those of its fields; `[(); 0]`
    /// otherwise. It is a type because it selects the implementation of [`Readable`], which
    /// the value of a constant cannot do.
    type AnyBits: Claim;
    /// The named fields of a record. They are a description: no proof depends on it.
    const FIELDS: &'static [FieldType] = &[];

    /// Destructures the struct. It is never called: its type is the proof.
    ///
    /// The exclusive reference makes the types in the result invariant.
    fn fields(&'static mut self) -> impl Split;
}

/// The fields of a struct, as [`Fields::fields`] returns them.
#[diagnostic::on_unimplemented(
    message = "the fields of this struct cannot be the parts of an element",
    label = "not fields of one element type beside `PhantomData`, `()` and `[T; 0]`"
)]
pub trait Split: sealed::Sealed {
    /// The type of each field that occupies memory.
    type Field: Element;
    /// The number of such fields.
    const COUNT: usize;
    /// The axes of one field, or of an array of several.
    const AXES: &'static [i64];
    /// Whether every pattern of bits is a value of each field.
    const ANY_BITS: bool;
    /// Whether these are the fields of a record.
    const IS_RECORD: bool;
}

impl<F: Element, const N: usize, M: sealed::Markers> Split for ([*mut F; N], M) {
    type Field = F;
    const COUNT: usize = N;
    const AXES: &'static [i64] = if N == 1 { F::AXES } else { <[F; N] as Element>::AXES };
    const ANY_BITS: bool = F::ANY_BITS;
    const IS_RECORD: bool = false;
}

/// The memory of a record is its bytes.
impl<T, Rest> Split for (*mut T, Rest)
where
    Self: sealed::List,
{
    type Field = u8;
    const COUNT: usize = <Self as sealed::List>::SIZE;
    #[expect(clippy::cast_possible_wrap, reason = "no type is larger than `isize::MAX`")]
    const AXES: &'static [i64] = &[<Self as sealed::List>::SIZE as i64];
    const ANY_BITS: bool = <Self as sealed::List>::ANY_BITS;
    const IS_RECORD: bool = true;
}

/// The type of a field of a record: an element, a `PhantomData` or a `()`.
#[diagnostic::on_unimplemented(
    message = "a record cannot have a field of type `{Self}`",
    label = "not an element type",
    note = "the fields are elements: `bool`, `i8`-`i64`, `u8`-`u64`, `f32`, `f64`, `Complex<f32 or f64>`, arrays of these, and structs that derive `Element` or `Record`; a `PhantomData` and a `()` may stand beside them"
)]
pub trait Part {
    /// The size of the field.
    const SIZE: usize;
    /// Whether every pattern of bits is a value.
    const ANY_BITS: bool;
}

#[diagnostic::do_not_recommend]
impl<T: Element> Part for T {
    const SIZE: usize = {
        let () = SizeMatches::<T>::OK;
        size_of::<T>()
    };
    const ANY_BITS: bool = <T as Element>::ANY_BITS;
}

impl<T: ?Sized> Part for PhantomData<T> {
    const SIZE: usize = 0;
    const ANY_BITS: bool = true;
}

impl Part for () {
    const SIZE: usize = 0;
    const ANY_BITS: bool = true;
}

/// The claim of a struct about its bit patterns: [`Fields::AnyBits`].
pub trait Claim: sealed::Claim {
    /// Whether every bit pattern is a value.
    const ANY_BITS: bool;
}

impl Claim for [(); 0] {
    const ANY_BITS: bool = false;
}

impl Claim for [(); 1] {
    const ANY_BITS: bool = true;
}

/// How a `T` with this claim is read.
///
/// # Safety
///
/// An implementation promises 1 of [`Readable`].
pub unsafe trait Reads<T>: Claim {
    /// [`Readable::are_valid`].
    fn are_valid(bytes: &[u8]) -> bool;
}

// SAFETY: 1. By 4 of `Element` every bit pattern is a value if `ANY_BITS` is true; its
// evaluation asserts that the fields agree with the claim.
unsafe impl<T: Element> Reads<T> for [(); 1] {
    #[inline(always)]
    fn are_valid(_: &[u8]) -> bool {
        T::ANY_BITS
    }
}

// SAFETY: 1. Each chunk of the size of a `T` is checked by `CheckedBitPattern`.
unsafe impl<T: Element + CheckedBitPattern<Bits: NoUninit>> Reads<T> for [(); 0] {
    #[inline]
    fn are_valid(bytes: &[u8]) -> bool {
        let mut values = bytes.chunks_exact(size_of::<T>());
        values.all(|value| bytemuck::checked::try_pod_read_unaligned::<T>(value).is_ok())
    }
}

// SAFETY: 1. By 1 of `Reads`.
#[diagnostic::do_not_recommend]
unsafe impl<T: Fields<AnyBits: Reads<T>>> Readable for T {
    #[inline(always)]
    fn are_valid(bytes: &[u8]) -> bool {
        T::AnyBits::are_valid(bytes)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Fields<AnyBits = [(); 1]>> AnyBits for T {}

mod sealed {
    use super::{Marker, Part};

    pub trait Claim {}
    impl Claim for [(); 0] {}
    impl Claim for [(); 1] {}

    pub trait Sealed {}
    impl<F, const N: usize, M> Sealed for ([*mut F; N], M) {}
    impl<T, Rest> Sealed for (*mut T, Rest) {}

    /// A list of the fields of a record.
    pub trait List {
        const SIZE: usize;
        const ANY_BITS: bool;
    }
    impl List for () {
        const SIZE: usize = 0;
        const ANY_BITS: bool = true;
    }
    impl<T: Part, Rest: List> List for (*mut T, Rest) {
        const SIZE: usize = T::SIZE.checked_add(Rest::SIZE).expect("the fields fit in memory");
        const ANY_BITS: bool = T::ANY_BITS && Rest::ANY_BITS;
    }

    /// A list of marker fields.
    pub trait Markers {}
    impl Markers for () {}
    impl<T: Marker, Rest: Markers> Markers for (*mut T, Rest) {}
}

/// The type of a marker field, which is not part of the element: it has one value and no
/// bytes.
///
/// # Safety
///
/// An implementation promises that
/// 1. the type has no bytes;
/// 2. a value of it can be made from nothing, anywhere: no value proves anything.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be left out of an element",
    label = "not `PhantomData`, `()` or `[T; 0]`",
    note = "`#[dlpack(skip)]` in an element is for `PhantomData`, `()`, and `[T; 0]` for its alignment; other types may have memory, or values that prove something"
)]
pub unsafe trait Marker {}

// SAFETY: 1 and 2. The standard library documents that it has no size, and its one value
// can be constructed anywhere.
unsafe impl<T: ?Sized> Marker for PhantomData<T> {}
// SAFETY: 1 and 2. The one value of the empty tuple has no bytes.
unsafe impl Marker for () {}
// SAFETY: 1 and 2. The one value of the empty array has no bytes, for any `T`.
unsafe impl<T> Marker for [T; 0] {}

// SAFETY: by 1 of `Fields` the type is a struct of `P::COUNT` fields of the type `P::Field`
// (see `proven`), and of fields that are `Marker`s; or a record of fields that are `Part`s, of
// `P::COUNT` bytes together.
// 1. `proven` asserts that the struct is no larger than the former, so that it has no
//    padding; by 1 of `Element` they are initialized, and by 1 of `Marker` the others have no bytes.
//    A `Part` that is not an `Element` has no bytes.
// 2. By 2 of `Element`; fields without bytes cannot be changed.
// 3. The constants are those of the fields, or of the bytes of a record. The size is asserted.
// 4. `any_bits` asserts 4 of `Element`; by 2 of `Marker` and 2 of `Fields` nothing else is
//    needed.
#[diagnostic::do_not_recommend]
unsafe impl<T: Fields> Element for T {
    const DTYPE: DataType = dtype(T::fields);
    const AXES: &'static [i64] = axes(T::fields);
    const ANY_BITS: bool = any_bits(T::fields);
    const RECORD: Option<&'static RecordType> = record(T::fields);
}

/// [`Element::DTYPE`] of a struct.
const fn dtype<T: Fields, P: Split>(fields: fn(&'static mut T) -> P) -> DataType {
    proven(fields);
    if T::LANES { lanes::<P>() } else { P::Field::DTYPE }
}

/// [`Element::AXES`] of a struct.
const fn axes<T: Fields, P: Split>(fields: fn(&'static mut T) -> P) -> &'static [i64] {
    proven(fields);
    if T::LANES { &[] } else { P::AXES }
}

/// [`Element::ANY_BITS`] of a struct.
///
/// # Panics
///
/// At compile time, if the struct is marked `any_bits` and a field does not allow any bits.
const fn any_bits<T: Fields, P: Split>(fields: fn(&'static mut T) -> P) -> bool {
    proven(fields);
    assert!(
        !T::AnyBits::ANY_BITS || P::ANY_BITS,
        "`#[dlpack(any_bits)]` needs a field for which every pattern of bits is a value"
    );
    T::AnyBits::ANY_BITS
}

/// Asserts that the parts fill the struct. `P` is inferred from the function of the struct;
/// the caller cannot choose it.
const fn proven<T: Fields, P: Split>(_: fn(&'static mut T) -> P) {
    let parts = size_of::<P::Field>().checked_mul(P::COUNT);
    let filled = matches!(parts, Some(parts) if parts == size_of::<T>());
    assert!(
        filled || !P::IS_RECORD,
        "a record has no padding, which is uninitialized: fill it by a field such as \
         `#[dlpack(skip)] padding: [u8; 3]`, or put the fields with the largest alignment first"
    );
    assert!(filled, "an element has no memory beside its parts");
}

/// [`Element::RECORD`] of a struct.
const fn record<T: Fields, P: Split>(_: fn(&'static mut T) -> P) -> Option<&'static RecordType> {
    match (P::IS_RECORD, T::LANES) {
        (true, _) => Some(RecordOf::<T>::TYPE),
        (false, true) => None,
        (false, false) => P::Field::RECORD,
    }
}

/// The fields of a record.
struct RecordOf<T>(PhantomData<T>);

impl<T: Fields> RecordOf<T> {
    const TYPE: &'static RecordType = &RecordType { size: size_of::<T>(), fields: T::FIELDS };
}

/// Makes the constant of a field. The offset is only a description: every export of the field is
/// validated against the memory of the records.
///
/// # Panics
///
/// At compile time, if the field does not lie inside of the record.
pub const fn field<R, F: Element>(name: &'static str, offset: usize) -> Field<R, F> {
    Field::new(name, offset)
}

/// The type of an element whose parts are lanes.
const fn lanes<P: Split>() -> DataType {
    let mut axes = P::AXES;
    assert!(!axes.is_empty(), "`#[dlpack(lanes)]` needs an array, such as `[f32; 4]`");
    let part = P::Field::DTYPE;
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

/// Evaluates [`Element::DTYPE`] of a struct in the expansion instead of at its first use,
/// to report errors early; no proof depends on this call. It calls the function and not the
/// constant, so that the error points to the user's file.
pub const fn assert_element<T: Fields>() {
    let _ = dtype(T::fields);
}

/// Evaluates [`Element::ANY_BITS`] in the expansion, for the same reason.
pub const fn assert_any_bits<T: Fields>() {
    let _ = any_bits(T::fields);
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::panic::catch_unwind;

    use super::*;

    /// Implements `Fields` for a struct as the derive does.
    macro_rules! fields {
        ($name:ident { $($part:tt),+; $($marker:tt)? } $lanes:literal, $any_bits:ty) => {
            // SAFETY: 1. The pattern names each field and moves no type. 2. No struct of
            // these tests has an invariant.
            unsafe impl Fields for $name {
                const LANES: bool = $lanes;
                type AnyBits = $any_bits;
                fn fields(&'static mut self) -> impl Split {
                    $(let marker = &raw mut self.$marker;)?
                    ([$(&raw mut self.$part),+], fields!(@ $($marker marker)?))
                }
            }
        };
        (@) => { () };
        (@ $marker:tt $pointer:ident) => { ($pointer, ()) };
    }

    #[derive(Clone, Copy)]
    struct Number(f32);
    fields!(Number { 0; } false, [(); 1]);

    #[derive(Clone, Copy)]
    struct Switch(bool);
    fields!(Switch { 0; } true, [(); 1]);

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Pair(i16, i16, PhantomData<Number>);
    fields!(Pair { 0, 1; 2 } true, [(); 0]);

    #[derive(Clone, Copy)]
    #[repr(C, align(16))]
    struct Padded(i64);
    fields!(Padded { 0; } false, [(); 0]);

    /// The constants of an element.
    fn consts<T: Element>() -> (DataType, &'static [i64], bool) {
        (T::DTYPE, T::AXES, T::ANY_BITS)
    }

    #[test]
    fn consts_are_computed_from_the_fields() {
        assert_eq!(consts::<Number>(), (DataType::F32, &[][..], true));
        assert_eq!(consts::<Pair>(), (DataType::I16.with_lanes(2), &[][..], false));
        assert_element::<Pair>();
        assert_any_bits::<Number>();
    }

    #[test]
    fn claims_that_the_fields_contradict_are_refused() {
        assert!(catch_unwind(|| any_bits(Switch::fields)).is_err());
        assert!(catch_unwind(|| dtype(Switch::fields)).is_err(), "a `bool` has no lanes");
        for refused in [
            catch_unwind(|| {
                dtype(Padded::fields);
            }),
            catch_unwind(|| {
                axes(Padded::fields);
            }),
            catch_unwind(|| {
                any_bits(Padded::fields);
            }),
        ] {
            assert!(refused.is_err(), "eight bytes of a `Padded` are padding");
        }
    }
}
