//! Loans of memory: [`DataRef`] for reading, [`Data`] with a mode.

use core::fmt;
use core::marker::PhantomData;

use crate::device::Device;
use crate::dtype::DataType;
use crate::element::{Element, SizeMatches};

/// What a consumer may do with lent memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody writes: it came from `&[T]`.
    Frozen,
    /// Anybody may write: no Rust reference to the elements ever exists.
    Shared,
    /// The borrower alone may read and write: it came from `&mut [T]`.
    Exclusive,
}

/// Lent memory, without its lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// First byte, or a handle on devices without addresses.
    pub(crate) ptr: *mut u8,
    /// Length in bytes.
    pub(crate) byte_len: usize,
    /// Type of the elements, or of the innermost parts of elements with axes.
    pub(crate) dtype: DataType,
    /// The axes of each element; none for most.
    pub(crate) axes: &'static [i64],
    /// Where it is.
    pub(crate) device: Device,
    /// What may be done with it.
    pub(crate) access: Access,
}

impl Memory {
    /// Bytes of one element with its axes, unless elements are packed into bytes.
    #[inline]
    pub(crate) fn element_size(&self) -> Option<usize> {
        let size = self.dtype.byte_size()?;
        // The size of a Rust type, so it fits.
        self.axes.iter().try_fold(size, |size, &dim| size.checked_mul(usize::try_from(dim).ok()?))
    }
}

/// Memory lent for reading, or shared for reading and writing.
///
/// It knows its address, its length in bytes, the type of its elements and its
/// device. Safe code makes one from a slice; a buffer type that owns memory in
/// another way makes one with [`from_raw_parts`](Self::from_raw_parts), the
/// only place where a device can be named.
#[derive(Clone, Copy)]
pub struct DataRef<'a> {
    memory: Memory,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> DataRef<'a> {
    /// Lends a slice of elements in host memory. The loan is *frozen*: a
    /// consumer is told that it must not write.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, DataType};
    ///
    /// let data = DataRef::from_slice(&[1.0_f32, 2.0]);
    /// assert_eq!(data.dtype(), DataType::F32);
    /// assert_eq!(data.byte_len(), 8);
    /// ```
    #[inline]
    pub const fn from_slice<T: Element>(elements: &'a [T]) -> Self {
        let () = SizeMatches::<T>::OK;
        Self::new(Memory {
            ptr: elements.as_ptr().cast::<u8>().cast_mut(),
            byte_len: size_of_val(elements),
            dtype: T::DTYPE,
            axes: T::AXES,
            device: Device::CPU,
            access: Access::Frozen,
        })
    }

    /// Lends memory that is not a Rust slice: another device, a mapped file, a
    /// foreign allocation. The loan is *frozen*.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or, where [`Device::has_addresses`] is false, a handle to an object
    ///    of `byte_len` bytes), and `byte_len` is at most `isize::MAX`;
    /// 2. those bytes are initialised, and are valid elements of type `dtype`,
    ///    aligned for it, as many as fit;
    /// 3. nobody writes to them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *const u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        let access = Access::Frozen;
        Self::new(Memory { ptr: ptr.cast_mut(), byte_len, dtype, axes: &[], device, access })
    }

    /// Lends memory that anybody may write while it is lent. The loan is
    /// *shared*: a consumer is told that it may write.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`from_raw_parts`](Self::from_raw_parts)), and
    ///    `byte_len` is at most `isize::MAX`;
    /// 2. those bytes are initialised, and any pattern of bits in them is
    ///    acceptable to their owner; `ptr` is aligned to the largest power of
    ///    two, up to 8, that divides the size of an element of `dtype`;
    /// 3. they may be read and written through `ptr`, no Rust reference to any
    ///    of them exists, and Rust code that accesses them does so with atomics
    ///    of that power of two.
    #[inline]
    pub const unsafe fn from_raw_parts_shared(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        Self::new(Memory { ptr, byte_len, dtype, axes: &[], device, access: Access::Shared })
    }

    #[inline]
    const fn new(memory: Memory) -> Self {
        Self { memory, lent: PhantomData }
    }

    /// Length in bytes.
    pub const fn byte_len(&self) -> usize {
        self.memory.byte_len
    }

    /// Says that each element is itself an array of `dtype`s: its axes are added
    /// behind those of the tensor's shape. No axes is what elements have
    /// otherwise.
    ///
    /// This claims nothing about the memory, only how it is described.
    #[inline]
    #[must_use]
    pub(crate) const fn with_axes(mut self, axes: &'static [i64]) -> Self {
        self.memory.axes = axes;
        self
    }

    /// Type of the elements.
    pub const fn dtype(&self) -> DataType {
        self.memory.dtype
    }

    /// Where the memory is.
    pub const fn device(&self) -> Device {
        self.memory.device
    }

    /// First byte of the memory, or its handle on devices without addresses.
    pub const fn as_ptr(&self) -> *const u8 {
        self.memory.ptr
    }

    #[inline]
    pub(crate) const fn memory(self) -> Memory {
        self.memory
    }
}

impl fmt::Debug for DataRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

/// Memory lent in one of three modes: frozen, shared, or exclusive.
///
/// There is one of it at a time (it is neither `Clone` nor `Copy`), as there
/// is of a `&mut`.
pub struct Data<'a> {
    memory: Memory,
    lent: PhantomData<&'a mut [u8]>,
}

impl<'a> Data<'a> {
    /// Lends a slice of elements in host memory for reading and writing.
    ///
    /// Foreign code can write any bytes. So where not every pattern of bits is
    /// a value of `T` (`bool`), the loan is frozen, as from
    /// [`DataRef::from_slice`].
    #[inline]
    pub const fn from_mut_slice<T: Element>(elements: &'a mut [T]) -> Self {
        let () = SizeMatches::<T>::OK;
        let byte_len = size_of_val(elements);
        Self::new(Memory {
            ptr: elements.as_mut_ptr().cast(),
            byte_len,
            dtype: T::DTYPE,
            axes: T::AXES,
            device: Device::CPU,
            access: if T::ANY_BITS { Access::Exclusive } else { Access::Frozen },
        })
    }

    /// Lends memory that is not a Rust slice for reading and writing.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`DataRef::from_raw_parts`]), and `byte_len` is
    ///    at most `isize::MAX`;
    /// 2. those bytes are initialised, aligned for `dtype`, and any pattern of
    ///    bits in them is acceptable to their owner;
    /// 3. nobody else reads or writes them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        Self::new(Memory { ptr, byte_len, dtype, axes: &[], device, access: Access::Exclusive })
    }

    #[inline]
    const fn new(memory: Memory) -> Self {
        Self { memory, lent: PhantomData }
    }

    #[inline]
    pub(crate) const fn into_memory(self) -> Memory {
        self.memory
    }
}

impl<'a> From<DataRef<'a>> for Data<'a> {
    #[inline]
    fn from(data: DataRef<'a>) -> Self {
        Self::new(data.memory)
    }
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}
