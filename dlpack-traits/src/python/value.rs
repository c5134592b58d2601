//! The value of an object, whatever its type: [`Value`].
//!
//! What is not on the short way of an export is there once, over this, and not once for
//! each class.

use super::class::ExportClass;
use crate::described::Plain;
use crate::device::Device;
use crate::dims::{Room, Space};
use crate::error::Error;
use crate::export::{DLPackExport, tensor_of};
use crate::managed::Outgoing;
use crate::stream::StreamArg;
use crate::view::TensorView;

/// As much of [`DLPackExport`] as is asked of values through a pointer. Each of its
/// methods is code in every class.
pub(super) trait Value: Send + Sync {
    /// [`DLPackExport::tensor`].
    fn view(&self) -> Result<TensorView<'_>, Error>;

    /// [`DLPackExport::tensor_in`].
    fn plain_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>>;

    /// [`DLPackExport::sync_for`].
    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error>;

    /// Whether what holds the elements says that nobody may write. Other tensors may be
    /// read-only too.
    fn is_frozen(&self) -> bool;

    /// [`DLPackExport::share_dlpack`]. `None` for an error, which is then in `refused`.
    fn share_or(&self, consumer: StreamArg<'_>, refused: &mut Option<Error>) -> Option<Outgoing>;
}

impl<T: ExportClass> Value for T {
    fn view(&self) -> Result<TensorView<'_>, Error> {
        tensor_of(self)
    }

    fn plain_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        T::tensor_in(self, room)
    }

    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        T::sync_for(self, consumer)
    }

    #[inline]
    fn is_frozen(&self) -> bool {
        let storage = T::storage(self);
        storage.is_some_and(|storage| storage.data().memory_ref().access.is_read_only())
    }

    #[inline(never)]
    fn share_or(&self, consumer: StreamArg<'_>, refused: &mut Option<Error>) -> Option<Outgoing> {
        match T::share_dlpack(self, consumer) {
            Ok(tensor) => Some(tensor.into()),
            Err(error) => {
                *refused = Some(error);
                None
            }
        }
    }
}

impl dyn Value + '_ {
    /// Where the tensor is. Of a plain one that takes no description.
    pub(super) fn device(&self) -> Result<Device, Error> {
        let mut space = Space::new();
        match self.plain_in(space.room()) {
            Some(plain) => Ok(plain.device()),
            None => Ok(self.view()?.device()),
        }
    }
}

/// A value as an owner, or to be copied.
impl DLPackExport for dyn Value + '_ {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        self.view()
    }

    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        self.plain_in(room)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.order(consumer)
    }
}
