//! The layout that nearly every tensor has, compact in row-major order from the
//! start of its storage: [`Plain`].
//!
//! A [`Described`](super::Described) can say everything, and is moved several
//! times before its parts arrive in a packet. This says one thing, without
//! words: whatever it cannot say is left to the other, which also knows what to
//! call an error.

use core::marker::PhantomData;

use super::alignment;
#[cfg(feature = "pyo3")]
use crate::device::Device;
use crate::dims::Compact;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::storage::{Access, Data, DataRef, Memory};
use crate::stream::StreamArg;

/// Lent memory that begins with the elements of a compact tensor, whose shape
/// and strides are in a [`Room`](crate::dims::Room).
#[derive(Debug)]
pub struct Plain<'a> {
    memory: Memory,
    ndim: usize,
    /// Number of elements.
    numel: i64,
    /// Bytes of all elements.
    byte_len: usize,
    lent: PhantomData<&'a mut [u8]>,
    /// That the dimensions are in the room of this lifetime, and no other's.
    shape: PhantomData<Compact<'a>>,
}

impl<'a> Plain<'a> {
    /// Describes memory that is lent for reading.
    #[inline(always)]
    pub(crate) fn of_ref(data: DataRef<'a>, shape: Compact<'a>) -> Option<Self> {
        Self::of_memory(data.memory(), shape)
    }

    /// Describes memory in the mode in which it is lent.
    #[inline(always)]
    pub(crate) fn of(data: Data<'a>, shape: Compact<'a>) -> Option<Self> {
        Self::of_memory(data.into_memory(), shape)
    }

    /// `None` where there is more to say, or something to refuse.
    #[inline(always)]
    fn of_memory(memory: Memory, Compact { ndim, numel, .. }: Compact<'a>) -> Option<Self> {
        let size = memory.plain_element()?;
        let byte_len = usize::try_from(numel).ok()?.checked_mul(size)?;
        let align = alignment(memory.dtype)?;
        let aligned = memory.ptr.addr() & align.wrapping_sub(1) == 0;
        let fits = byte_len != 0 && byte_len <= memory.byte_len;
        (fits && aligned).then_some(Self {
            memory,
            ndim,
            numel,
            byte_len,
            lent: PhantomData,
            shape: PhantomData,
        })
    }

    /// The same elements in the memory of another owner, if that begins with
    /// them too.
    #[inline(always)]
    pub(crate) fn owned_by(self, owner: &Memory) -> Option<Self> {
        // Of the same type, and so of elements that can be plain.
        let same = owner.is_plain()
            && owner.ptr.addr() == self.memory.ptr.addr()
            && owner.device == self.memory.device
            && owner.dtype == self.memory.dtype
            && self.byte_len <= owner.byte_len;
        same.then_some(Self { memory: *owner, ..self })
    }

    /// Number of dimensions.
    #[inline]
    pub(crate) const fn ndim(&self) -> usize {
        self.ndim
    }

    /// Number of elements.
    #[inline]
    pub(crate) const fn numel(&self) -> i64 {
        self.numel
    }

    /// The C struct, with dimensions that live elsewhere.
    #[inline(always)]
    pub(crate) fn to_ffi(&self, shape: *mut i64, strides: *mut i64) -> DLTensor {
        DLTensor {
            data: self.memory.ptr.cast(),
            device: self.memory.device.to_ffi(),
            // There are at most 8.
            ndim: i32::try_from(self.ndim).unwrap_or(0),
            dtype: self.memory.dtype.to_ffi(),
            shape,
            strides,
            byte_offset: 0,
        }
    }

    /// Synchronizes pending work on the memory with the consumer.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::sync_for`].
    ///
    /// # Safety
    ///
    /// 1. The loan of the memory is not over.
    #[inline(always)]
    pub(crate) unsafe fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        // SAFETY: 1. is 1. of this function.
        unsafe { self.memory.sync_for(consumer) }
    }

    /// Where the memory is.
    #[cfg(feature = "pyo3")]
    pub(crate) const fn device(&self) -> Device {
        self.memory.device
    }

    /// Who may access the memory.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        self.memory.access
    }

    /// The flags that a consumer must be told.
    #[inline]
    pub(crate) const fn flags(&self) -> Flags {
        if self.memory.access.is_read_only() { Flags::READ_ONLY } else { Flags::NONE }
    }
}
