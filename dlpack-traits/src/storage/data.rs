//! Loans of memory: [`DataRef`] for reading, and [`DataMut`] with an access mode.

use core::fmt;
use core::marker::PhantomData;

use crate::device::Device;
use crate::dtype::DataType;
use crate::element::{Element, FieldType, SizeMatches};
use crate::error::Error;
use crate::storage::Access;
use crate::storage::memory::{ForeignInfo, Memory, OwnLayout, Window};
use crate::storage::synchronize::SyncBy;
use crate::stream_arg::{ConsumerPlace, Synchronize};

/// Memory lent for reading, or shared for reading and writing.
///
/// It consists of an address, a length in bytes, the type of the elements and a device.
/// Safe code makes one from a slice. A buffer type that owns memory in another way, or on
/// a device, makes one with [`from_raw_parts`](Self::from_raw_parts) or
/// [`from_raw_parts_shared`](Self::from_raw_parts_shared).
#[derive(Clone, Copy)]
pub struct DataRef<'a> {
    memory: Memory,
    layout: Option<&'a dyn OwnLayout>,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> DataRef<'a> {
    /// Borrows a slice of elements in host memory. Access is *frozen*: no owner writes while
    /// the borrow lasts, and exports set READ_ONLY.
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
        let window = Window::at(ptr, byte_len);
        Self::new(Memory::new(window, T::DTYPE, Device::CPU, Access::Frozen)).with_axes(T::AXES)
    }

    /// Lends memory that is not a Rust slice: on another device, in a mapped file, or in a
    /// foreign allocation. The loan is *frozen*.
    ///
    /// Exports of device memory are rejected until
    /// [`synchronized_by`](Self::synchronized_by) names the object that orders the work on
    /// it. Host memory that a device reads or writes, such as pinned memory, needs the
    /// same, although this crate cannot check it.
    ///
    /// # Padding
    ///
    /// All `byte_len` bytes must be initialized, including those between the elements of
    /// the tensor for which they are lent: safe code can describe the loan with another
    /// layout, and can import the export into an [`ImportedStorage`](crate::ImportedStorage), which lends
    /// them again. An owner whose allocator leaves padding uninitialized, such as the
    /// padding between the columns of faer's `Mat`, must write the padding once before it
    /// lends the memory.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or, where [`Device::has_addresses`] is false, a handle to an object
    ///    of `byte_len` bytes), and `byte_len` is at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialized, and are valid elements of type
    ///    `dtype`, aligned for it, as many as fit;
    /// 3. no one writes to them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *const u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        let window = Window::whole(ptr.cast_mut(), byte_len, device);
        Self::new(Memory::new(window, dtype, device, Access::Frozen))
    }

    /// Lends memory that any owner may write while it is lent. The loan is *shared*:
    /// consumers may write.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`from_raw_parts`](Self::from_raw_parts)), and
    ///    `byte_len` is at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialized, and any pattern of bits in them is
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
        let window = Window::whole(ptr, byte_len, device);
        Self::new(Memory::new(window, dtype, device, Access::Shared))
    }

    /// Lends memory that other owners may write while it is lent, and that consumers may not
    /// write: memory that another process writes, mapped without write access. The loan is
    /// *shared*, and exports set READ_ONLY.
    ///
    /// Rust code of this crate reads the memory byte-wise atomically, as that of
    /// [`from_raw_parts_shared`](Self::from_raw_parts_shared). READ_ONLY forbids writes of the
    /// consumer; it does not state that the elements stay the same.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`from_raw_parts`](Self::from_raw_parts)), and
    ///    `byte_len` is at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialized, and any pattern of bits in them is a
    ///    valid element; `ptr` is aligned for `dtype`;
    /// 3. they may be read through `ptr`, also as `&AtomicU8`, and Rust code accesses them in
    ///    ways that do not race with byte-wise relaxed atomic reads at any moment: byte-wise
    ///    atomically itself, or not at the same time. No Rust reference to them is in use that
    ///    excludes writes, such as a `&[f32]`.
    #[inline]
    pub const unsafe fn from_raw_parts_shared_read_only(
        ptr: *const u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        let window = Window::whole(ptr.cast_mut(), byte_len, device);
        Self::new(Memory::new(window, dtype, device, Access::SharedReadOnly))
    }

    /// Lends the bytes of a window. If another library made them, as `came` states, they are exported
    /// again unchanged: the elements may be unaligned, and their type need not be one that this
    /// version of the standard defines.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `window` is as its fields state: its bytes are part of one allocation or object on
    ///    `device`;
    /// 2. the bytes are initialized, and any pattern of bits in them is acceptable to their
    ///    owner; if `came` is `None`, the first one is aligned for `dtype`;
    /// 3. what `access` and `came` state about other owners is true, and Rust code accesses
    ///    the bytes as they state.
    #[inline(always)]
    pub(crate) const unsafe fn of_window(
        window: Window,
        dtype: DataType,
        device: Device,
        access: Access,
        came: Option<ForeignInfo>,
    ) -> Self {
        let mut memory = Memory::new(window, dtype, device, access);
        memory.foreign = came;
        // Ordinary memory of the host: neither pinned nor managed.
        let ordinary = device.device_type().0 == crate::ffi::kDLCPU.0;
        memory.sync = match came {
            Some(came) if !ordinary => Some(match came.synchronized {
                ConsumerPlace::DefaultStream => SyncBy::IMPORT,
                ConsumerPlace::Host | ConsumerPlace::Stream => SyncBy::IMPORT_FOR_ANOTHER,
            }),
            _ => None,
        };
        Self::new(memory)
    }

    /// Removes the synchronization from pinned memory that was imported for the host, which
    /// reads it without a wait.
    #[inline]
    pub(crate) const fn imported_for_host(mut self) -> Self {
        let came = self.memory.foreign;
        let for_another = matches!(came, Some(came) if !matches!(came.synchronized, ConsumerPlace::DefaultStream));
        if self.memory.device.is_host() && !for_another {
            self.memory.sync = None;
        }
        self
    }

    /// Lends no memory, for the given reason: every description and every export of the
    /// storage returns that error. Use it for a storage whose state has no memory: closed,
    /// locked, or a variant that DLPack cannot describe.
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
    /// let returned = TensorView::new(Pooled(None).data(), Layout::new([0])).map(|_| ());
    /// assert_eq!(returned, Err(Error::Custom("the buffer is back in its pool")));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub const fn refused(reason: &'static Error) -> Self {
        Self::new(Memory::refused(reason))
    }

    /// Sets the object that synchronizes work on this memory with a consumer, and that
    /// keeps the memory alive until the work has finished. Every export calls it, whatever
    /// types wrap this loan.
    ///
    /// Device memory without one is not exported. [`DeviceBuffer`] sets itself, so that
    /// safe code gets this from the buffers that it uses. Host memory on which no device
    /// works needs none.
    ///
    /// [`DeviceBuffer`]: crate::backend::DeviceBuffer
    ///
    /// # Safety
    ///
    /// When `by.sync_for(consumer)` has returned `Ok`:
    /// 1. the work of the consumer on its stream runs after all work that is pending on the
    ///    memory;
    /// 2. the memory is not freed before the consumer's work has finished, even if the loan
    ///    has ended by then: a consumer may call the deleter while its work still runs.
    #[inline]
    #[must_use]
    pub const unsafe fn synchronized_by<S: Synchronize>(mut self, by: &'a S) -> Self {
        self.memory.sync = Some(SyncBy::new(by));
        self
    }

    /// As [`synchronized_by`](Self::synchronized_by), by an object that checks itself whether the
    /// device of a consumer's stream can work on the memory.
    ///
    /// # Safety
    ///
    /// 1. and 2. As of `synchronized_by`, for a stream of any device.
    #[inline]
    pub(crate) const unsafe fn synchronized_by_backend<S: Synchronize>(
        mut self,
        by: &'a S,
    ) -> Self {
        self.memory.sync = Some(SyncBy::of_backend(by));
        self
    }

    #[inline]
    const fn new(memory: Memory) -> Self {
        Self { memory, layout: None, lent: PhantomData }
    }

    /// Names the storage of elements that can have strides, for descriptions without strides.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn in_layout_of(mut self, storage: &'a dyn OwnLayout) -> Self {
        self.layout = Some(storage);
        self
    }

    /// The same memory, which is that of an import of elements of the type `dtype`.
    ///
    /// The type, and that the memory is not refused, are then constants also after a branch between two
    /// functions that return such memory, and the other attributes stay in registers (measured: 68
    /// instructions per export of an import in a struct).
    #[inline(always)]
    #[must_use]
    pub(crate) fn known_import(self, dtype: DataType) -> Self {
        Self { memory: self.memory.known_import(dtype), ..self }
    }

    /// Length in bytes.
    pub const fn byte_len(&self) -> usize {
        self.memory.window.byte_len
    }

    /// Sets the axes of each element, which is then an array of `dtype`s. They are appended
    /// to the shape of the tensor. By default there are none.
    ///
    /// This makes no claim about the memory; it only changes its description.
    #[inline]
    #[must_use]
    pub(crate) const fn with_axes(mut self, axes: &'static [i64]) -> Self {
        self.memory.axes = axes;
        self
    }

    /// The same bytes as elements of another type; `None` if these elements are not bytes.
    #[inline]
    pub(crate) fn with_dtype(self, dtype: DataType) -> Option<Self> {
        Some(Self { memory: self.memory.with_dtype(dtype)?, ..self })
    }

    /// The memory of records from a field of the first one on, as parts of the field. The type makes no
    /// claim about the memory, which is lent as bytes.
    pub(crate) fn of_field(self, field: FieldType) -> Self {
        match self.memory.part_of_bytes(field.offset(), field.dtype()) {
            Some(memory) => Self { memory, ..self },
            None => Self::refused(&Error::Custom("a field is exported of records only")),
        }
    }

    /// Marks elements narrower than a byte as padded to one byte each.
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

    /// Device of the memory.
    pub const fn device(&self) -> Device {
        self.memory.device
    }

    /// The address of the first byte of the memory, or its handle.
    pub const fn as_ptr(&self) -> *const u8 {
        self.memory.window.data
    }

    /// Bytes from the handle to the first byte of the memory; 0 if [`as_ptr`](Self::as_ptr) is an
    /// address. A description does not include them: its offset counts from the first byte of
    /// the memory.
    pub const fn byte_offset(&self) -> usize {
        match self.memory.window.in_object {
            Some(in_object) => in_object.bytes(),
            None => 0,
        }
    }

    #[inline]
    pub(crate) const fn memory_ref(&self) -> &Memory {
        &self.memory
    }

    /// The storage, if its elements can have strides.
    #[inline(always)]
    pub(crate) const fn layout(&self) -> Option<&'a dyn OwnLayout> {
        self.layout
    }
}

impl fmt::Debug for DataRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

/// Borrowed memory with one of four kinds of access: frozen (no one writes), shared (all
/// owners may write), shared read-only (other owners may write), or exclusive (only the
/// borrower reads and writes).
///
/// Like a `&mut`, it is unique: it is neither `Clone` nor `Copy`.
pub struct DataMut<'a> {
    data: DataRef<'a>,
    lent: PhantomData<&'a mut [u8]>,
}

impl<'a> DataMut<'a> {
    /// Lends a slice of elements in host memory for reading and writing.
    ///
    /// Foreign code can write any bytes. If not every bit pattern is a valid `T` (`bool`),
    /// the loan is therefore frozen, as from [`DataRef::from_slice`].
    #[inline]
    pub const fn from_mut_slice<T: Element>(elements: &'a mut [T]) -> Self {
        let () = SizeMatches::<T>::OK;
        let byte_len = size_of_val(elements);
        let access = if T::ANY_BITS { Access::Exclusive } else { Access::Frozen };
        let ptr = elements.as_mut_ptr().cast();
        let window = Window::at(ptr, byte_len);
        let memory = Memory::new(window, T::DTYPE, Device::CPU, access);
        Self::new(DataRef::new(memory).with_axes(T::AXES))
    }

    /// Lends memory that is not a Rust slice for reading and writing.
    ///
    /// # Safety
    ///
    /// For the whole of `'a`:
    /// 1. `ptr` is the first of `byte_len` bytes of one allocation on `device`
    ///    (or a handle, as for [`DataRef::from_raw_parts`]), and `byte_len` is
    ///    at most `isize::MAX`;
    /// 2. those bytes, padding included, are initialized, aligned for `dtype`, and any pattern of
    ///    bits in them is acceptable to their owner;
    /// 3. no one else reads or writes them.
    #[inline]
    pub const unsafe fn from_raw_parts(
        ptr: *mut u8,
        byte_len: usize,
        dtype: DataType,
        device: Device,
    ) -> Self {
        let window = Window::whole(ptr, byte_len, device);
        Self::new(DataRef::new(Memory::new(window, dtype, device, Access::Exclusive)))
    }

    /// Lends no memory, for the given reason; see [`DataRef::refused`].
    #[inline]
    pub const fn refused(reason: &'static Error) -> Self {
        Self::new(DataRef::refused(reason))
    }

    /// As [`DataRef::synchronized_by`], for this loan.
    ///
    /// # Safety
    ///
    /// 1. and 2. As for [`DataRef::synchronized_by`].
    #[inline]
    #[must_use]
    pub const unsafe fn synchronized_by<S: Synchronize>(mut self, by: &'a S) -> Self {
        self.data.memory.sync = Some(SyncBy::new(by));
        self
    }

    #[inline]
    const fn new(data: DataRef<'a>) -> Self {
        Self { data, lent: PhantomData }
    }

    /// Changes the description of the memory.
    #[inline(always)]
    pub(crate) fn map(self, change: impl FnOnce(DataRef<'a>) -> DataRef<'a>) -> Self {
        Self::new(change(self.data))
    }

    /// The memory, with the access of this loan.
    #[inline(always)]
    pub(crate) const fn as_ref(&self) -> &DataRef<'a> {
        &self.data
    }
}

impl<'a> From<DataRef<'a>> for DataMut<'a> {
    #[inline]
    fn from(data: DataRef<'a>) -> Self {
        Self::new(data)
    }
}

impl fmt::Debug for DataMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}
