//! The value of an object, whatever its type: [`Value`].
//!
//! What is not on the short way of an export is there once, over this, and not once for
//! each class.

use super::class::ExportClass;
use crate::described::Plain;
use crate::dims::Room;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::managed::Outgoing;
use crate::storage::SharedOwner;
use crate::stream::StreamArg;
use crate::view::TensorView;

/// As much of [`DLPackExport`] as is asked of values through a pointer. Each of its
/// methods is code in every class.
pub(super) trait Value: Send + Sync {
    /// [`DLPackExport::tensor`].
    fn view(&self) -> Result<TensorView<'_>, Error>;

    /// [`DLPackExport::tensor_in`].
    fn plain_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>>;

    /// [`DLPackExport::hand_off`].
    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error>;

    /// [`DLPackExport::share`].
    fn owner(&self) -> Option<SharedOwner>;

    /// Whether what holds the elements says that nobody may write. Other tensors may be
    /// read-only too.
    fn is_frozen(&self) -> bool;

    /// [`DLPackExport::to_dlpack_by_itself`]. `None` if there is no such way, and for an
    /// error, which is then in `refused`.
    fn share_by_itself(
        &self,
        consumer: StreamArg<'_>,
        refused: &mut Option<Error>,
    ) -> Option<Outgoing>;
}

impl<T: ExportClass> Value for T {
    fn view(&self) -> Result<TensorView<'_>, Error> {
        T::tensor(self)
    }

    fn plain_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        T::tensor_in(self, room)
    }

    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        T::hand_off(self, consumer)
    }

    fn owner(&self) -> Option<SharedOwner> {
        T::share(self)
    }

    #[inline]
    fn is_frozen(&self) -> bool {
        let storage = T::storage(self);
        storage.is_some_and(|storage| storage.data().memory_ref().access.is_read_only())
    }

    #[inline(never)]
    fn share_by_itself(
        &self,
        consumer: StreamArg<'_>,
        refused: &mut Option<Error>,
    ) -> Option<Outgoing> {
        match T::to_dlpack_by_itself(self, consumer) {
            Some(Ok(tensor)) => Some(tensor.into()),
            Some(Err(error)) => {
                *refused = Some(error);
                None
            }
            None => None,
        }
    }
}

/// A value is exported as any tensor, in the ways that are not its own.
impl DLPackExport for dyn Value + '_ {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        self.view()
    }

    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        self.plain_in(room)
    }

    fn hand_off(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.order(consumer)
    }

    fn share(&self) -> Option<SharedOwner> {
        self.owner()
    }
}
