//! The value of an object as a trait object: [`DynExport`].
//!
//! Code outside of the fast path of an export uses it, so that it is compiled once and
//! not once for each class.
//!
//! Only the fast path is compiled for each class: borrow the value, share its storage, or
//! view it. Keywords, copies, errors and capsules go through this trait. A class takes 3.5
//! KiB of machine code instead of 21, and the indirect call 1 to 2 ns.

use crate::describe::{Describe, Description, Slot};
use crate::device::Device;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::managed::RawManaged;
use crate::stream::StreamArg;

/// The object-safe part of [`DLPackExport`]. Each of its methods is compiled for every
/// class.
pub(in crate::python) trait DynExport: Send + Sync {
    /// [`DLPackExport::describe`].
    fn described<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error>;

    /// [`DLPackExport::sync_for`].
    fn order(&self, consumer: StreamArg<'_>) -> Result<(), Error>;

    /// Whether the storage itself is read-only. A tensor can be read-only for other
    /// reasons too.
    fn is_frozen(&self) -> bool;

    /// [`DLPackExport::to_dlpack_on`]. On failure returns `None` and stores the error in
    /// `refused`.
    fn export_shared_object(
        &self,
        consumer: StreamArg<'_>,
        refused: &mut Option<Error>,
    ) -> Option<RawManaged>;
}

impl<T: DLPackExport + Send + Sync> DynExport for T {
    #[inline(never)]
    fn described<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        T::describe(self, out)
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
    fn export_shared_object(
        &self,
        consumer: StreamArg<'_>,
        refused: &mut Option<Error>,
    ) -> Option<RawManaged> {
        match T::to_dlpack_on(self, consumer) {
            Ok(tensor) => Some(tensor.into()),
            Err(error) => {
                *refused = Some(error);
                None
            }
        }
    }
}

impl dyn DynExport + '_ {
    /// Returns the device of the tensor.
    pub(in crate::python) fn device(&self) -> Result<Device, Error> {
        let mut slot = Slot::new();
        Ok(self.described(slot.describe())?.device())
    }
}

/// Lets a value be an owner, or be copied.
impl DLPackExport for dyn DynExport + '_ {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        self.described(out)
    }

    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.order(consumer)
    }
}
