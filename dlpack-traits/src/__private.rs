//! What the expansion of the derive may name. Not public API: it changes with
//! any release, and nothing else may use it.

pub use core::option::Option;
pub use core::result::Result;

pub use crate::dims::AsDims;
pub use crate::error::Error;
pub use crate::storage::{SharedOwner, Storage};
pub use crate::stream::StreamArg;
pub use crate::view::{Layout, Lend, TensorView};

/// Asks for a storage, with the caret on the field's type.
pub const fn assert_storage<S: Storage + ?Sized>() {}

/// Asks for a list of integers, with the caret on the field's type.
pub const fn assert_dims<D: AsDims + ?Sized>() {}

/// Asks for something that a deleter may drop, with the caret on the field's type.
pub const fn assert_owner<T: TensorOwner>() {}

/// Asks for as many strides as dimensions, where both are known to the compiler.
pub const fn assert_same_rank<const SHAPE: usize, const STRIDES: usize>()
where
    Ranks: SameRank<SHAPE, STRIDES>,
{
}

/// What an exported tensor may own: `Send + 'static`, in our words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot own the data of an exported tensor",
    label = "must be `Send + 'static`",
    note = "the consumer may drop the tensor on any thread, long after this scope ends",
    note = "use `Arc` instead of `Rc`, and own the buffer instead of borrowing it"
)]
pub trait TensorOwner {}

#[diagnostic::do_not_recommend]
impl<T: Send + 'static> TensorOwner for T {}

/// Carries the ranks of [`assert_same_rank`].
#[derive(Debug)]
pub struct Ranks;

/// Two ranks that are the same.
#[diagnostic::on_unimplemented(
    message = "`strides` has {STRIDES} entries but `shape` has {SHAPE}",
    label = "rank mismatch",
    note = "DLPack needs one stride per dimension; leave `strides` out for a compact row-major tensor"
)]
pub trait SameRank<const SHAPE: usize, const STRIDES: usize> {}

impl<const N: usize> SameRank<N, N> for Ranks {}
