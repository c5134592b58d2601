//! How lent memory may be accessed, and how Rust reads it: [`Access`].

use core::mem::MaybeUninit;

use crate::byte_atomic;

/// The access that a loan of memory permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    // The read-only ones first, so that one comparison finds them.
    /// No one writes: the loan was made from `&[T]`.
    Frozen,
    /// No one may write through the loan, but other owners may write meanwhile.
    SharedReadOnly,
    /// As `SharedReadOnly`, for foreign memory, which might be mapped read-only or lent
    /// from a `&[T]`.
    ForeignReadOnly,
    /// Every owner may write: no Rust reference to the elements ever exists.
    Shared,
    /// Only the borrower may read and write: the loan was made from `&mut [T]`.
    Exclusive,
}

impl Access {
    /// Whether an export must set READ_ONLY.
    #[inline]
    pub(crate) const fn is_read_only(self) -> bool {
        matches!(self, Access::Frozen | Access::SharedReadOnly | Access::ForeignReadOnly)
    }

    /// Whether other owners may write, so that Rust must read byte-wise atomically.
    ///
    /// Under Miri, foreign memory that may be lent from a `&[T]` is read by ordinary loads:
    /// Stacked Borrows rejects a reference to an atomic that was made from a `&[T]`, and the
    /// stable library has no atomic load without such a reference. A test must therefore not
    /// write this memory meanwhile.
    #[inline(always)]
    pub(crate) const fn is_read_atomically(self) -> bool {
        match self {
            Access::Frozen | Access::Exclusive => false,
            Access::Shared | Access::SharedReadOnly => true,
            Access::ForeignReadOnly => !cfg!(miri),
        }
    }

    /// Copies `len` bytes of lent memory to private memory, byte-wise atomically if other
    /// owners may write.
    ///
    /// # Safety
    ///
    /// 1. During the call, `from` is the first of `len` initialized bytes that are lent
    ///    with this access.
    /// 2. `to` is the first of `len` bytes that may be written, and that no one else
    ///    accesses during the call.
    #[inline]
    pub(crate) unsafe fn copy(self, from: *const u8, to: *mut u8, len: usize) {
        if !self.is_read_atomically() {
            // SAFETY: by 1 `from` may be read, and no one writes, or only this borrower; by 2
            // `to` may be written, and overlaps nothing.
            return unsafe { from.copy_to_nonoverlapping(to, len) };
        }
        // SAFETY: 1. Guaranteed by our caller's 1; memory that is read atomically under Miri
        // may be written. 2. Guaranteed by the obligations of a shared loan. 3. Guaranteed by
        // our caller's 2.
        unsafe { byte_atomic::copy_from_shared(from, to, len) };
    }

    /// Reads a value from lent memory, as [`copy`](Self::copy) does.
    ///
    /// # Safety
    ///
    /// 1. As 1 of [`copy`](Self::copy), with the size of `T` as `len`.
    #[inline(always)]
    pub(crate) unsafe fn load<T: Copy>(self, from: *const u8) -> MaybeUninit<T> {
        if !self.is_read_atomically() {
            // SAFETY: by 1 the bytes may be read, and no one writes, or only this borrower.
            // Any bytes are a valid `MaybeUninit`.
            return unsafe { from.cast::<MaybeUninit<T>>().read_unaligned() };
        }
        // SAFETY: 1. Guaranteed by our caller's 1; memory that is read atomically under Miri
        // may be written. 2. Guaranteed by the obligations of a shared loan.
        unsafe { byte_atomic::load(from) }
    }
}
