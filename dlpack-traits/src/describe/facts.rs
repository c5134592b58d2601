//! Data about a described tensor beyond its C struct: [`Facts`].

use super::bytes::Span;
use crate::error::Error;
use crate::flags::Flags;
use crate::storage::{Access, Memory, Synchronizer};
use crate::stream_arg::StreamArg;
use crate::version::Version;

/// Data about a described tensor beyond its C struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Start of the storage; on a device without addresses, the handle.
    pub(super) base: *mut u8,
    /// Address of the first element, or NULL; on a device without addresses, the handle.
    pub(super) data: *mut u8,
    /// Whether another library guarantees the layout of the elements.
    pub(super) vouched: bool,
    /// The bytes that contain elements, counted from `base`; empty for an empty tensor.
    pub(super) span: Span,
    pub(super) flags: Flags,
    pub(super) access: Access,
    /// The number of minor versions by which the type of the elements is newer than this
    /// crate.
    pub(super) later: u8,
    pub(super) synchronizer: Synchronizer,
    /// The addresses of shape and strides if the tensor stores them as `i64`s outside of
    /// the slot; otherwise NULL.
    stored: [*const i64; 2],
    /// Whether the tensor is known to have no flag, and to be host memory that needs no
    /// synchronization. It is a value of its own, because it is a constant in each variant of an
    /// enum: a test where the variants meet takes 2 instructions, and one of all three facts 17.
    is_plain: bool,
}

impl Facts {
    /// The facts of a tensor in lent memory.
    #[inline(always)]
    pub(super) fn new(
        memory: &Memory,
        data: *mut u8,
        span: Span,
        flags: Flags,
        stored: [*const i64; 2],
    ) -> Self {
        Self {
            base: memory.window.data,
            data,
            vouched: memory.foreign.is_some(),
            span,
            flags,
            access: memory.access,
            later: memory.foreign.map_or(0, |came| came.later),
            synchronizer: memory.synchronizer(),
            stored,
            is_plain: flags == Flags::NONE && memory.is_idle_host(),
        }
    }

    /// The same elements in the memory of another owner, at `data`.
    #[inline(always)]
    pub(super) fn relocate(&mut self, memory: &Memory, data: *mut u8) {
        if memory.access.is_read_only() {
            self.set_read_only();
        }
        (self.base, self.data, self.access) = (memory.window.data, data, memory.access);
        self.synchronizer = memory.synchronizer();
        // Not computed again: only borrowed tensors use it, and these are not relocated.
        self.is_plain = false;
    }

    /// Whether the tensor is known to have no flag, and to be host memory that needs no
    /// synchronization.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

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
        self.is_plain = false;
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

    /// Start of the storage; on a device without addresses, the handle.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// The range of bytes that contains elements: its start, counted from [`base`](Self::base),
    /// and its length.
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
