//! Data about a described tensor beyond its C struct: [`Facts`].

use super::bytes::Span;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{Access, Synchronizer};
use crate::stream::StreamArg;
use crate::version::Version;

/// Data about a described tensor beyond its C struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Start of the storage, or its handle.
    pub(super) base: *mut u8,
    /// Address of the first element, or NULL; on a device without addresses, the handle.
    pub(super) data: *mut u8,
    /// Whether another library guarantees the layout of the elements.
    pub(super) vouched: bool,
    /// The bytes of the storage that contain elements; empty for an empty tensor.
    pub(super) span: Span,
    pub(super) flags: Flags,
    pub(super) access: Access,
    /// The number of minor versions by which the type of the elements is newer than this
    /// crate.
    pub(super) later: u8,
    pub(super) synchronizer: Synchronizer,
    /// The addresses of shape and strides if the tensor stores them as `i64`s outside of
    /// the slot; otherwise NULL.
    pub(super) stored: [*const i64; 2],
}

impl Facts {
    /// The flags of an export, READ_ONLY included.
    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }

    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.flags.contains(Flags::READ_ONLY)
    }

    #[inline]
    pub(crate) fn set_read_only(&mut self) {
        self.flags = self.flags | Flags::READ_ONLY;
    }

    /// Whether elements narrower than a byte are padded to one byte each.
    #[inline]
    pub(crate) fn is_padded(&self) -> bool {
        self.flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED)
    }

    /// How the memory may be accessed while it is lent.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Start of the storage, or its handle.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// The range of bytes of the storage that contains elements: its start, counted from
    /// the start of the storage, and its length.
    #[inline]
    pub(crate) fn span(&self) -> (u64, usize) {
        // The range is inside of the storage, so its length fits.
        let byte_len = usize::try_from(self.span.end.wrapping_sub(self.span.start)).unwrap_or(0);
        (self.span.start, byte_len)
    }

    /// The version of an export: this crate's version, unless foreign elements have a type
    /// that a later version added.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        let ours = Version::CURRENT;
        Version::new(ours.major, ours.minor.saturating_add(self.later.into()))
    }

    /// Synchronizes pending work on the memory with the consumer.
    ///
    /// # Errors
    ///
    /// Those of [`Synchronizer::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory has not ended.
    #[inline]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. Guaranteed by our caller's 1.
        unsafe { self.synchronizer.sync_for(consumer) }
    }

    /// The addresses of shape and strides in the tensor, valid for the loan; NULL for a
    /// list that the tensor computes or stores as numbers of another type.
    #[inline]
    pub(crate) fn stored(&self) -> [*const i64; 2] {
        self.stored
    }
}
