//! Loans of memory: [`DataRef`] for reading, [`Data`] with a mode.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::device::Device;
use crate::dtype::DataType;
use crate::element::{Element, SizeMatches};
use crate::error::Error;
use crate::ffi;
use crate::storage::Access;
use crate::storage::synchronize::SyncBy;
use crate::stream::ConsumerPlace;

/// What is told of memory that another library made, and that is to be
/// exported as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    /// How many minor versions later than ours the type of its elements is, at
    /// least; 0 for a type that we know.
    pub(crate) later: u8,
    /// The consumer that its producer synchronized it with.
    pub(crate) synchronized: ConsumerPlace,
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
    /// Whether elements narrower than a byte take a byte each.
    pub(crate) padded: bool,
    /// Whether another library made it, who answers for where its elements lie
    /// and of what type they are.
    pub(crate) foreign: Option<Came>,
    /// Why there is no memory at all, if so.
    refusal: Option<&'static Error>,
    /// What synchronizes it with a consumer. Memory of the host needs nothing.
    pub(super) sync: Option<SyncBy>,
}

impl Memory {
    /// Memory whose elements have no axes.
    const fn new(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
        access: Access,
    ) -> Self {
        Self {
            ptr,
            byte_len,
            dtype,
            axes: &[],
            device,
            access,
            padded: false,
            foreign: None,
            refusal: None,
            sync: None,
        }
    }

    /// The same, in memory of its own: a call that takes the address of a copy leaves the
    /// original in registers.
    #[inline(always)]
    pub(crate) fn copied(&self) -> Self {
        *self
    }

    /// No memory.
    const fn refused(reason: &'static Error) -> Self {
        let nowhere = NonNull::dangling().as_ptr();
        let memory = Self::new(nowhere, 0, DataType::U8, Device::CPU, Access::Frozen);
        Self { refusal: Some(reason), ..memory }
    }

    /// Whether there is memory to describe.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.refusal.map_or(Ok(()), |reason| Err(*reason))
    }

    /// The same bytes as elements of another type, which a description checks
    /// against their number and address. `None` if these are not bytes.
    fn with_dtype(self, dtype: DataType) -> Option<Self> {
        // Bytes can be read as any numbers, but nothing makes a handle of them.
        let handle = dtype.code() == ffi::kDLOpaqueHandle;
        let bytes = self.dtype == DataType::U8 && self.axes.is_empty() && !handle;
        if self.refusal.is_some() || dtype == self.dtype {
            Some(self)
        } else if bytes {
            // Who answers for bytes does not answer for what they are read as.
            Some(Self { dtype, foreign: None, ..self })
        } else {
            None
        }
    }

    /// Whether another library answers for elements of this type.
    #[inline]
    pub(crate) fn vouches_for(&self, dtype: DataType) -> bool {
        self.foreign.is_some() && self.dtype == dtype
    }

    /// Whether it is memory of the usual kind: there is some, at an address, and its
    /// elements are not padded.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.refusal.is_none() && !self.padded && self.device.has_addresses()
    }

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
    pub(super) memory: Memory,
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
        let ptr = elements.as_ptr().cast::<u8>().cast_mut();
        let byte_len = size_of_val(elements);
        Self::new(Memory::new(ptr, byte_len, T::DTYPE, Device::CPU, Access::Frozen))
            .with_axes(T::AXES)
    }

    /// Lends memory that is not a Rust slice: another device, a mapped file, a
    /// foreign allocation. The loan is *frozen*.
    ///
    /// Exports of a device's memory are refused until
    /// [`synchronized_by`](Self::synchronized_by) says what orders the work on it.
    /// Memory of the host that a device reads or writes, as pinned memory, needs the same,
    /// though no one can check it.
    ///
    /// # Padding
    ///
    /// All `byte_len` bytes have to be initialised, also those between the elements of
    /// the tensor for which they are lent: safe code can describe the loan with another
    /// layout, and can import the export into a [`Foreign`](crate::Foreign), which lends
    /// them again. An owner whose allocator leaves padding uninitialised, such as the
    /// padding between the columns of faer's `Mat`, writes it once before it lends the
    /// memory.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or, where [`Device::has_addresses`] is false, a handle to an object
    ///    of `byte_len` bytes), and `byte_len` is at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialised, and are valid elements of type `dtype`,
    ///    aligned for it, as many as fit;
    /// 3. nobody writes to them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *const u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        Self::new(Memory::new(ptr.cast_mut(), byte_len, dtype, device, Access::Frozen))
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
    /// 2. those bytes, padding included, are initialised, and any pattern of bits in them is
    ///    acceptable to their owner; `ptr` is aligned for `dtype`;
    /// 3. they may be read and written through `ptr`, and Rust code accesses them in
    ///    ways that do not race with byte-wise relaxed atomic reads and writes at any
    ///    moment: byte-wise atomically itself (`AtomicU8`), or not at the same time. No
    ///    other Rust reference to them is in use.
    #[inline]
    pub const unsafe fn from_raw_parts_shared(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        Self::new(Memory::new(ptr, byte_len, dtype, device, Access::Shared))
    }

    /// Lends memory that another library made, to be exported as it came: its
    /// elements need not be aligned, and their type need not be one that this
    /// version of the standard names.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. as 1 of [`from_raw_parts`](Self::from_raw_parts);
    /// 2. the bytes are initialised, and any pattern of bits in them is
    ///    acceptable to their owner;
    /// 3. what `access` and `came` say of others is true, and Rust code accesses
    ///    them as these say.
    #[inline(always)]
    pub(crate) const unsafe fn from_foreign_parts(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
        access: Access,
        came: Came,
    ) -> Self {
        let memory = Memory::new(ptr, byte_len, dtype, device, access);
        let ordinary = device.is_host() && !device.is_read_by_host();
        let sync = match came.synchronized {
            _ if ordinary => None,
            ConsumerPlace::DefaultStream => Some(SyncBy::IMPORT),
            ConsumerPlace::Host | ConsumerPlace::Stream => Some(SyncBy::IMPORT_FOR_ANOTHER),
        };
        Self::new(Memory { foreign: Some(came), sync, ..memory })
    }

    /// Pinned memory that was imported for the host, where it is read without a wait.
    #[inline]
    pub(crate) const fn imported_for_host(mut self) -> Self {
        let came = self.memory.foreign;
        let for_another = matches!(came, Some(came) if !matches!(came.synchronized, ConsumerPlace::DefaultStream));
        if self.memory.device.is_host() && !for_another {
            self.memory.sync = None;
        }
        self
    }

    /// Lends nothing, for this reason: whatever describes or exports the
    /// storage gets the error. So a storage can be in a state in which it has
    /// no memory: closed, locked, or a variant that DLPack knows nothing of.
    ///
    /// ```
    /// use dlpack_traits::{DataRef, Error, Layout, Storage, TensorView};
    ///
    /// struct Pooled(Option<Vec<u8>>);
    ///
    /// impl Storage for Pooled {
    ///     fn data(&self) -> DataRef<'_> {
    ///         match &self.0 {
    ///             Some(bytes) => DataRef::from_slice(bytes),
    ///             None => DataRef::refused(&Error::Custom("the buffer is back in its pool")),
    ///         }
    ///     }
    /// }
    ///
    /// let returned = TensorView::new(Pooled(None).data(), Layout::row_major(&[0])?).map(|_| ());
    /// assert_eq!(returned, Err(Error::Custom("the buffer is back in its pool")));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub const fn refused(reason: &'static Error) -> Self {
        Self::new(Memory::refused(reason))
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

    /// The same bytes as elements of another type; `None` if these are no bytes.
    #[inline]
    pub(crate) fn with_dtype(self, dtype: DataType) -> Option<Self> {
        self.memory.with_dtype(dtype).map(Self::new)
    }

    /// Says that elements narrower than a byte take a byte each.
    #[inline]
    #[must_use]
    pub(crate) const fn into_padded(mut self) -> Self {
        self.memory.padded = true;
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

    #[inline]
    pub(crate) const fn memory_ref(&self) -> &Memory {
        &self.memory
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
    pub(super) memory: Memory,
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
        let access = if T::ANY_BITS { Access::Exclusive } else { Access::Frozen };
        let ptr = elements.as_mut_ptr().cast();
        let memory = Memory::new(ptr, byte_len, T::DTYPE, Device::CPU, access);
        Self::new(Memory { axes: T::AXES, ..memory })
    }

    /// Lends memory that is not a Rust slice for reading and writing.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`DataRef::from_raw_parts`]), and `byte_len` is
    ///    at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialised, aligned for `dtype`, and any pattern of
    ///    bits in them is acceptable to their owner;
    /// 3. nobody else reads or writes them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        Self::new(Memory::new(ptr, byte_len, dtype, device, Access::Exclusive))
    }

    /// Lends nothing, for this reason; see [`DataRef::refused`].
    #[inline]
    pub const fn refused(reason: &'static Error) -> Self {
        Self::new(Memory::refused(reason))
    }

    #[inline]
    const fn new(memory: Memory) -> Self {
        Self { memory, lent: PhantomData }
    }

    /// The same bytes as elements of another type; `None` if these are no bytes.
    #[inline]
    pub(crate) fn with_dtype(self, dtype: DataType) -> Option<Self> {
        self.memory.with_dtype(dtype).map(Self::new)
    }

    /// Says that elements narrower than a byte take a byte each.
    #[inline]
    #[must_use]
    pub(crate) const fn into_padded(mut self) -> Self {
        self.memory.padded = true;
        self
    }

    #[inline]
    pub(crate) const fn memory_ref(&self) -> &Memory {
        &self.memory
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
