//! The numbers of dimensions that the type of an argument can name: [`FixedRank`].

/// The number of dimensions of a [`PyTensor`](super::PyTensor) that accepts every number of
/// dimensions.
pub const ANY_RANK: usize = usize::MAX;

/// A number of dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Rank<const N: usize>;

/// A number of dimensions that is known when the program is compiled, up to 16.
#[diagnostic::on_unimplemented(
    message = "the type of this argument does not name the number of dimensions",
    note = "name it, as in `PyTensor<'_, f32, 2>`, or use `shape()`"
)]
pub trait FixedRank {}

macro_rules! fixed {
    ($($rank:literal)+) => {$(impl FixedRank for Rank<$rank> {})+};
}

fixed!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
