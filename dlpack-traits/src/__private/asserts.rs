//! Assertions about a struct that need no knowledge of its type parameters.

use super::Dim;

/// Asserts that a named constant is an integer.
#[inline]
pub const fn integer<I: Dim>(constant: I) -> I {
    constant
}

/// Converts a named constant into a dimension.
///
/// # Panics
///
/// At compile time, if it is negative or does not fit.
pub const fn dim(constant: i128) -> i64 {
    assert!(constant >= 0, "a dimension of `#[dlpack(shape(..))]` cannot be negative");
    assert!(
        constant <= i64::MAX as i128,
        "a dimension of `#[dlpack(shape(..))]` must fit in an `i64`"
    );
    #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
    let dim = constant as i64;
    dim
}

/// Asserts that a deleter may drop the type. The error points to the field's type.
pub const fn assert_owner<T: TensorOwner + ?Sized>() {}

/// Asserts the same for a field that does not own the elements.
pub const fn assert_dropped<T: DroppedWithTensor + ?Sized>() {}

/// Asserts that there are as many strides as dimensions, if the compiler knows both
/// numbers.
pub const fn assert_same_rank<const SHAPE: usize, const STRIDES: usize>()
where
    Ranks: SameRank<SHAPE, STRIDES>,
{
}

/// `Send + 'static`, required of the owner of an exported tensor, with its own error
/// message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot own the data of an exported tensor",
    label = "must be `Send + 'static`",
    note = "the consumer may drop the tensor on any thread, long after this scope ends",
    note = "use `Arc` instead of `Rc`, and own the buffer instead of borrowing it",
    note = "a field that is not part of the tensor, in a struct that is `Send` by its own `unsafe impl`, can be marked `#[dlpack(skip)]`"
)]
pub trait TensorOwner {}

#[diagnostic::do_not_recommend]
impl<T: Send + ?Sized + 'static> TensorOwner for T {}

/// `Send + 'static`, required of the other fields of an exported struct, with its own error
/// message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be dropped with an exported tensor",
    label = "must be `Send + 'static`",
    note = "the consumer drops the whole struct with the tensor, on any thread, long after this scope ends",
    note = "use `Arc` instead of `Rc`, and an owned value instead of a borrowed one",
    note = "in a struct that is `Send` by its own `unsafe impl`, the field can be marked `#[dlpack(skip)]`"
)]
pub trait DroppedWithTensor {}

#[diagnostic::do_not_recommend]
impl<T: Send + ?Sized + 'static> DroppedWithTensor for T {}

/// The type that implements [`SameRank`] for [`assert_same_rank`].
#[derive(Debug)]
pub struct Ranks;

/// Implemented for two equal ranks.
#[diagnostic::on_unimplemented(
    message = "`strides` has {STRIDES} entries but `shape` has {SHAPE}",
    label = "rank mismatch",
    note = "DLPack needs one stride per dimension; leave `strides` out for a compact row-major tensor"
)]
pub trait SameRank<const SHAPE: usize, const STRIDES: usize> {}

impl<const N: usize> SameRank<N, N> for Ranks {}

#[cfg(test)]
mod tests {
    /// Runs a function that expansions evaluate at compile time.
    #[test]
    fn constants_are_dimensions() {
        assert_eq!(super::dim(0), 0);
        assert_eq!(super::dim(7), 7);
        assert_eq!(super::dim(i64::MAX.into()), i64::MAX);
    }
}
