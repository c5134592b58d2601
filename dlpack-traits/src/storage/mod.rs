//! The memory of a `data` field: [`Storage`], and the types that implement it.
//!
//! An exportable type names the storage that owns its elements, and the storage implements
//! `share`, so a hand-written `DLPackExport` cannot forget to forward it.

mod aligned_buf;
mod data;
mod erase;
mod memory;
mod shared_buffer;
mod shared_owner;
mod std_impls;
mod synchronize;
mod try_alloc;
mod try_arc;

use crate::element::RecordType;

pub use data::{DataMut, DataRef};
pub use shared_buffer::SharedBuffer;
pub use shared_owner::SharedOwner;

pub(crate) use aligned_buf::{ALIGNMENT, AlignedBuf, BlockBuffer, LARGE, block_len, with_repeated};
pub(crate) use memory::{Access, ForeignInfo, InObject, Memory, OwnLayout, Strided, Window};
pub(crate) use synchronize::Synchronizer;
pub(crate) use try_alloc::{
    fill, try_arc, try_arc_from, try_arc_slice, try_box, try_place, try_vec,
};
pub(crate) use try_arc::{Lent, TryArc, UninitTryArc};

/// Memory that contains the elements of a tensor: the type of a `data` field.
///
/// A storage returns its memory as a borrow ([`DataRef`], [`DataMut`]): the borrow checker
/// proves that the memory lives as long as the borrow, so an implementation that borrows a
/// slice needs no `unsafe`. It is implemented for
///
/// | type | condition |
/// |---|---|
/// | `Vec<T>`, `[T; N]`, `[T]`, `Cow<[T]>` | `T` is an element type, or an array `[U; N]` of one |
/// | `&mut [T]` | `T` is an element type |
/// | `&S`, `Box<S>` | `S` is a storage |
/// | `Arc<S>` | `S` is a storage, and `Send + Sync + 'static` |
/// | `Rc<S>` | `S` is a storage; the derive rejects it, and an implementation by hand has only `tensor` and `copy_to_dlpack` |
/// | [`SharedBuffer<T>`](crate::SharedBuffer) and the other storages of this crate | |
/// | types of other crates | the feature of that crate |
///
/// A field of another crate's type that is `AsRef<[T]>` or dereferences to `[T]` needs no
/// implementation: it is marked `#[dlpack(data, slice = f32)]`.
///
/// ```
/// use dlpack_traits::{DataRef, Storage};
///
/// struct Samples(Vec<i16>);
///
/// impl Storage for Samples {
///     fn data(&self) -> DataRef<'_> {
///         DataRef::from_slice(&self.0)
///     }
/// }
///
/// assert_eq!(Samples(vec![1, 2]).data().byte_len(), 4);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the data of a tensor",
    label = "not a `Storage`",
    note = "use `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]` or `SharedBuffer<T>` with a DLPack element type",
    note = "for a buffer type of your own, implement `dlpack_traits::Storage`, or derive it on an enum of storages",
    note = "a buffer type of another crate that lends a slice is marked `#[dlpack(data, slice = f32)]`, with the type of its elements"
)]
pub trait Storage {
    /// Borrows the memory for reading. Return [`DataRef::refused`] if the storage has no
    /// memory.
    fn data(&self) -> DataRef<'_>;

    /// Borrows the memory with the most access that the storage can grant. The default
    /// grants what `data` does.
    #[inline]
    fn data_mut(&mut self) -> DataMut<'_> {
        self.data().into()
    }

    /// Returns another owner of the same memory, if the storage supports several owners.
    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        None
    }

    /// The fields of the elements, if they are records: NumPy gets their structured dtype.
    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        None
    }
}
