//! How lent memory may be accessed, and how Rust reads it: [`Access`].

use core::mem::MaybeUninit;

use crate::byte_atomic;

/// The access that a loan of memory permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// No one writes: the loan was made from `&[T]`.
    Frozen,
    /// Every owner may write: no Rust reference to the elements ever exists.
    Shared,
    /// No one may write through the loan, but other owners may write meanwhile.
    SharedReadOnly,
    /// As `SharedReadOnly`, for foreign memory, which might be mapped read-only or lent
    /// from a `&[T]`.
    ForeignReadOnly,
    /// Only the borrower may read and write: the loan was made from `&mut [T]`.
    Exclusive,
}

impl Access {
    /// Whether an export must set READ_ONLY.
    #[inline]
    pub(crate) const fn is_read_only(self) -> bool {
        matches!(self, Access::Frozen | Access::SharedReadOnly | Access::ForeignReadOnly)
    }

    /// Copies `len` bytes of lent memory to private memory, byte-wise atomically if other
    /// owners may write.
    ///
    /// # Safety
    ///
    /// 1. During the call, `from` is the first of `len` initialised bytes that are lent
    ///    with this access.
    /// 2. `to` is the first of `len` bytes that may be written, and that no one else
    ///    accesses during the call.
    #[inline]
    pub(crate) unsafe fn copy(self, from: *const u8, to: *mut u8, len: usize) {
        match self {
            Access::Frozen | Access::Exclusive => {
                // SAFETY: by 1 `from` may be read, and no one writes, or only this
                // borrower; by 2 `to` may be written, and overlaps nothing.
                unsafe { from.copy_to_nonoverlapping(to, len) };
            }
            Access::Shared | Access::SharedReadOnly => {
                // SAFETY: 1. Guaranteed by our caller's 1; shared memory may be read and
                // written. 2. Guaranteed by the obligations of a shared loan. 3. Guaranteed
                // by our caller's 2.
                unsafe { byte_atomic::copy_from_shared(from, to, len) };
            }
            Access::ForeignReadOnly => {
                // SAFETY: 1. Guaranteed by our caller's 1. 2. Guaranteed by the obligations
                // of a shared loan. 3. Guaranteed by our caller's 2.
                unsafe { byte_atomic::copy_from_read_only(from, to, len) };
            }
        }
    }

    /// As [`copy`](Self::copy), for blocks that are read one after the other.
    ///
    /// # Safety
    ///
    /// 1. and 2. are those of [`copy`](Self::copy).
    #[inline]
    pub(crate) unsafe fn copy_ahead(self, from: *const u8, to: *mut u8, len: usize) {
        match self {
            Access::Frozen | Access::Exclusive => {
                // SAFETY: 1. and 2. Guaranteed by our caller's.
                unsafe { self.copy(from, to, len) };
            }
            Access::Shared | Access::SharedReadOnly => {
                // SAFETY: 1 to 3: as in `copy`.
                unsafe { byte_atomic::copy_ahead_from_shared(from, to, len) };
            }
            Access::ForeignReadOnly => {
                // SAFETY: 1 to 3: as in `copy`.
                unsafe { byte_atomic::copy_ahead_from_read_only(from, to, len) };
            }
        }
    }

    /// Reads a value from lent memory, as [`copy`](Self::copy) does.
    ///
    /// # Safety
    ///
    /// 1. As 1 of [`copy`](Self::copy), with the size of `T` as `len`.
    #[inline(always)]
    pub(crate) unsafe fn load<T: Copy>(self, from: *const u8) -> MaybeUninit<T> {
        match self {
            Access::Frozen | Access::Exclusive => {
                // SAFETY: by 1 the bytes may be read, and no one writes, or only this
                // borrower. Any bytes are a valid `MaybeUninit`.
                unsafe { from.cast::<MaybeUninit<T>>().read_unaligned() }
            }
            Access::Shared | Access::SharedReadOnly => {
                // SAFETY: 1. Guaranteed by our caller's 1; shared memory may be read and
                // written. 2. Guaranteed by the obligations of a shared loan.
                unsafe { byte_atomic::load(from) }
            }
            Access::ForeignReadOnly => {
                // SAFETY: 1. Guaranteed by our caller's 1. 2. Guaranteed by the obligations
                // of a shared loan.
                unsafe { byte_atomic::load_read_only(from) }
            }
        }
    }
}
