//! Device memory as the `data` of a tensor: [`DeviceBuffer`].
//!
//! The memory is lent as that of a `SharedBuffer` is: there is no Rust reference to an
//! element, so clones, exports and consumers may all write. No struct states after which stream its
//! memory is ready, so the conversion of an import is `unsafe`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ffi::c_void;
use core::fmt;
use core::mem::ManuallyDrop;

use super::allocation::{Allocation, FreeOrder, Import, Owner};
use super::backend_trait::has_addresses;
use super::memory::{MemoryRange, MemoryRef};
use super::staged::{from_host, to_host};
use super::{Backend, UsedStreams, WorkStream, frees};
use crate::alignment::check_imported;
use crate::byte_atomic;
use crate::copy::Copied;
use crate::device::Device;
use crate::dtype::DataType;
use crate::element::{AnyBits, Element, bytes_of, bytes_of_mut, zero};
use crate::error::Error;
use crate::export::{DLPackExport as _, copied_managed};
use crate::import::ImportedStorage;
use crate::storage::{
    Access, DataRef, InObject, OwnLayout as _, SharedOwner, Storage, TryArc, Window, try_vec,
};
use crate::stream_arg::{StreamArg, Synchronize};

/// Device memory, with the stream on which it is filled. A clone is another owner of the
/// same memory.
///
/// An export synchronizes with the consumer's stream by the rules of the device, without a
/// wait on the host. The memory is freed after all work of consumers on the streams that
/// they named. The last owner frees it, on any thread.
///
/// Consumers may write to the memory. Streams order all accesses to it, as among the
/// kernels of one program; no Rust reference to its elements exists.
///
/// ```
/// use dlpack_traits::backend::{Cpu, DeviceBuffer};
/// use dlpack_traits::{Device, Storage};
///
/// let buffer = DeviceBuffer::<Cpu>::from_slice(Device::CPU, &[1.0_f32, 2.0])?;
/// assert_eq!(buffer.data().device(), Device::CPU);
/// assert_eq!(buffer.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
pub struct DeviceBuffer<B: Backend> {
    memory: TryArc<Allocation<B>>,
}

impl<B: Backend> DeviceBuffer<B> {
    /// Allocates `len` elements, all of them zero, for work on the current stream.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`], [`Error::SizeOverflow`], [`Error::OutOfMemory`],
    /// [`Error::Unsupported`] for a backend that does not allocate, and those of the device.
    pub fn zeroed(device: Device, dtype: DataType, len: usize) -> Result<Self, Error> {
        Self::zeroed_on(WorkStream::current(device)?, dtype, len)
    }

    /// Allocates `len` elements, all of them zero, for work on that stream.
    ///
    /// # Errors
    ///
    /// Those of [`zeroed`](Self::zeroed).
    pub fn zeroed_on(stream: WorkStream<B>, dtype: DataType, len: usize) -> Result<Self, Error> {
        let byte_len = Self::byte_len_of(dtype, len)?;
        Self::allocated(stream, dtype, byte_len, B::allocate)
    }

    /// Allocates `len` elements with any contents, for a kernel on that stream that writes them all.
    ///
    /// # Errors
    ///
    /// Those of [`zeroed`](Self::zeroed).
    ///
    /// # Safety
    ///
    /// 1. Work on `stream` writes all bytes before any other work or the host reads them: before the
    ///    first export, copy or call of [`to_vec`](Self::to_vec).
    pub unsafe fn uninit_on(
        stream: WorkStream<B>,
        dtype: DataType,
        len: usize,
    ) -> Result<Self, Error> {
        let byte_len = Self::byte_len_of(dtype, len)?;
        // The invariant: 2. By our caller's 1.
        Self::allocated(stream, dtype, byte_len, B::allocate_uninit)
    }

    /// Size in bytes of `len` contiguous elements.
    pub(super) fn byte_len_of(dtype: DataType, len: usize) -> Result<usize, Error> {
        if !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let bits = usize::try_from(dtype.element_bits()).map_err(|_| Error::SizeOverflow)?;
        let bits = len.checked_mul(bits).ok_or(Error::SizeOverflow)?;
        Ok(bits.div_ceil(8))
    }

    /// Copies elements from the host. The copy is complete when this returns.
    ///
    /// # Errors
    ///
    /// Those of [`zeroed`](Self::zeroed), and [`Error::Unsupported`] for a backend that does not
    /// copy.
    pub fn from_slice<T: Element>(device: Device, elements: &[T]) -> Result<Self, Error> {
        Self::from_slice_on(WorkStream::current(device)?, elements)
    }

    /// Copies elements from the host, for work on that stream. The copy is complete when this
    /// returns.
    ///
    /// # Errors
    ///
    /// Those of [`from_slice`](Self::from_slice).
    pub fn from_slice_on<T: Element>(stream: WorkStream<B>, elements: &[T]) -> Result<Self, Error> {
        let byte_len = size_of_val(elements);
        // All of it is written before it is read, or it is dropped.
        let buffer = Self::allocated(stream, T::DTYPE, byte_len, B::allocate_uninit)?;
        let bytes = bytes_of(elements);
        // SAFETY: 1. The buffer is new, has as many bytes, and is freed after the work of its
        // stream.
        unsafe { from_host(buffer.stream(), bytes, buffer.place()) }?;
        Ok(buffer)
    }

    /// Copies the elements to the host, after the work on the buffer's stream: those of an
    /// [import](Self::from_foreign) in row-major order, and all others in that of the memory.
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`], [`Error::OutOfMemory`], [`Error::Unsupported`] for a backend
    /// that does not copy, and those of the device; for an import that is not contiguous, those of
    /// [`elements`](crate::ImportedTensor::elements).
    pub fn to_vec<T: AnyBits>(&self) -> Result<Vec<T>, Error> {
        if self.dtype() != T::DTYPE {
            return Err(Error::ElementMismatch { requested: T::DTYPE, found: self.dtype() });
        }
        if let Some(import) = self.memory.import().filter(|import| import.strided().is_some()) {
            let view = import.tensor()?;
            let copied = Copied::fetched(&view, |_, to| self.read(to))?;
            return copied_managed(copied)?.import()?.elements::<T>()?.to_vec();
        }
        let len = self.byte_len().checked_div(size_of::<T>()).unwrap_or(0);
        let mut elements = try_vec(len)?;
        elements.resize(len, zero());
        self.read(bytes_of_mut(&mut elements))?;
        Ok(elements)
    }

    /// Copies bytes to the host, from the first one on, after the work on the buffer's stream.
    fn read(&self, to: &mut [u8]) -> Result<(), Error> {
        let len = to.len().min(self.byte_len());
        let to = to.get_mut(..len).unwrap_or_default();
        if self.device() == Device::CPU {
            // Not by the backend: other threads can write the memory through an import of it.
            // SAFETY: 1. The buffer has the bytes, which may be read and written. 2. By 3 of
            // `from_raw_parts`; Rust code accesses memory of the allocator byte-wise
            // atomically. 3. `to` is borrowed uniquely, and has no more bytes.
            unsafe {
                byte_atomic::copy_from_shared(self.as_ptr().cast(), to.as_mut_ptr(), to.len());
            }
            return Ok(());
        }
        // SAFETY: 1. The buffer has the bytes, and is freed after the work of its stream.
        unsafe { to_host(self.stream(), self.place(), to) }
    }

    /// Allocates memory by the backend's allocator.
    pub(super) fn allocated(
        stream: WorkStream<B>,
        dtype: DataType,
        byte_len: usize,
        allocate: fn(&WorkStream<B>, usize) -> Result<MemoryRange, Error>,
    ) -> Result<Self, Error> {
        if isize::try_from(byte_len).is_err() {
            return Err(Error::OutOfMemory { bytes: byte_len });
        }
        frees::work_off();
        // At least one byte: an empty buffer has an address, or a handle, too.
        let memory = allocate(&stream, byte_len.max(1))?;
        let window = MemoryRange { byte_len, ..memory }.window(has_addresses::<B>(stream.device()));
        // On an error, `new` drops the owner, which frees the memory.
        Self::new(window, dtype, stream, Owner::Backend(memory))
    }

    /// Adopts memory that the caller allocated. Memory that is ready at an event, and not on a stream,
    /// is ready on a stream that waits for it: `stream.stream().wait(&event)`. `owner` is dropped when the last user
    /// releases the memory, on any thread. If the stream is being captured at that time,
    /// `owner` is never dropped.
    ///
    /// # Safety
    ///
    /// 1. Until `owner` is dropped, the bytes of `memory` are in one allocation on the device of
    ///    `stream` (or, where its [`MemoryType`](super::MemoryType) has handles, in the object behind the
    ///    handle), and its offset and length together are at most `isize::MAX`.
    /// 2. They are initialized, any pattern of bits in them is acceptable to
    ///    their owner, and the first of them is aligned for `dtype`.
    /// 3. They may be read and written. If the processor can reach them, Rust code
    ///    accesses them in ways that do not race with byte-wise relaxed atomic reads and
    ///    writes at any moment: byte-wise atomically itself (`AtomicU8`), or not at the
    ///    same time. No other Rust reference to them is in use.
    /// 4. All work on them is done, or enqueued on `stream` or ordered before it; later
    ///    work outside of hand-offs is too.
    /// 5. When `owner` was dropped, the memory is free at the time that `freed` specifies.
    pub unsafe fn from_raw_parts<O: Send + Sync + 'static>(
        memory: MemoryRange,
        dtype: DataType,
        stream: WorkStream<B>,
        owner: O,
        freed: FreeOrder,
    ) -> Self {
        // The invariant: by our caller's 1 to 5.
        let window = memory.window(has_addresses::<B>(stream.device()));
        Self::owned(window, dtype, stream, owner, freed)
    }

    /// Converts imported memory of a device into a buffer, with the stream after whose work it is
    /// ready. Unlike an `ImportedStorage`, the buffer orders consumers after that work.
    ///
    /// The buffer has the memory and the layout of the [`ImportedStorage`]: it begins at the lowest
    /// element, and a struct with only a shape is the imported tensor, with its strides and its
    /// `byte_offset`. When the work of all consumers is done, after a wait on the host, the deleter
    /// of the producer is called.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`] for a stream of another device;
    /// [`Error::ReadOnly`], because consumers may write to a buffer;
    /// [`Error::UnsupportedDType`] for a type that this crate does not support,
    /// or of elements narrower than a byte; [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// 1. All work on the bytes from the lowest element to the highest is done, or enqueued on
    ///    `stream` or ordered before it; so is later work of the producer that exported it.
    pub unsafe fn from_foreign(
        foreign: ImportedStorage,
        stream: WorkStream<B>,
    ) -> Result<Self, Error> {
        let tensor = foreign.imported();
        let (device, dtype) = (tensor.device(), tensor.dtype());
        let stream = stream.on_memory(device)?;
        if tensor.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if dtype.byte_size().is_none() || !dtype.is_well_formed() {
            return Err(Error::UnsupportedDType { dtype });
        }
        let mut window = foreign.data().memory_ref().window;
        if window.data.is_null() && window.byte_len != 0 {
            return Err(Error::NullData);
        }
        if has_addresses::<B>(device) {
            let start = window.data.wrapping_add(window.in_object.map_or(0, InObject::bytes));
            check_imported(start, dtype, device)?;
            window = Window::at(start, window.byte_len);
        }
        // The invariant: 1. and 3. It is the window that `ImportedStorage` lends, for shared use, and
        // keeps. 2. Its producer guarantees the contents, and the alignment was checked. 4. By our
        // caller's 1. 5. `Immediate` makes no promise about the stream: the producer may free the
        // memory at once.
        Ok(Self::owned(window, dtype, stream, Import(foreign), FreeOrder::Immediate))
    }

    /// Memory of an owner, for which the invariant of [`Allocation`] holds.
    fn owned<O: Send + Sync + 'static>(
        window: Window,
        dtype: DataType,
        stream: WorkStream<B>,
        owner: O,
        freed: FreeOrder,
    ) -> Self {
        let owner = Owner::Value(ManuallyDrop::new(Box::new(owner)), freed);
        // If the allocation fails, the program aborts, as for the box above.
        Self::new(window, dtype, stream, owner)
            .unwrap_or_else(|_| alloc::alloc::handle_alloc_error(Layout::new::<Allocation<B>>()))
    }

    fn new(
        window: Window,
        dtype: DataType,
        stream: WorkStream<B>,
        owner: Owner,
    ) -> Result<Self, Error> {
        let uses = UsedStreams::new();
        let memory = Allocation { window, dtype, stream, uses, owner };
        Ok(Self { memory: TryArc::new(memory)? })
    }

    /// The address of the first byte of the memory, or its handle. Behind a handle the memory of
    /// an import begins at the offset that [`place`](Self::place) has too.
    /// The host must not dereference it.
    pub fn as_ptr(&self) -> *mut c_void {
        self.memory.window.data.cast()
    }

    /// The location of the first byte, for a kernel or a copy: the address, or the handle with the
    /// offset in the object.
    ///
    /// ```
    /// use dlpack_traits::Device;
    /// use dlpack_traits::backend::{Cpu, DeviceBuffer};
    ///
    /// let buffer = DeviceBuffer::<Cpu>::from_slice(Device::CPU, &[1.0_f32, 2.0])?;
    /// assert_eq!(buffer.place().address().cast(), buffer.as_ptr());
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    pub fn place(&self) -> MemoryRef {
        let byte_offset = self.memory.window.in_object.map_or(0, InObject::bytes) as u64;
        MemoryRef { device: self.device(), data: self.as_ptr(), byte_offset }
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> usize {
        self.memory.window.byte_len
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DataType {
        self.memory.dtype
    }

    /// The device of the memory.
    pub fn device(&self) -> Device {
        self.memory.stream.device()
    }

    /// The stream on which the memory is filled. The memory is freed after its work.
    pub fn stream(&self) -> &WorkStream<B> {
        &self.memory.stream
    }

    /// Synchronizes with the consumer's stream: orders the work on the buffer before the
    /// consumer's later work, and records the stream, so that the memory is freed after
    /// that work. Exports call this.
    ///
    /// # Errors
    ///
    /// Those of [`UsedStreams::sync_for`].
    #[inline]
    pub fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.memory.uses.sync_for(&self.memory.stream, consumer)
    }
}

impl<B: Backend> Storage for DeviceBuffer<B> {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        let (Allocation { window, dtype, .. }, device) = (&*self.memory, self.device());
        // SAFETY: for memory of the allocator: 1. It lives as long as `self`. 2. It was
        // zeroed, any bits are valid, and it is aligned to 64 bytes or more. 3. We own it,
        // and nothing here makes a reference to it. For adopted memory: 1. to 3. of
        // `from_raw_parts`, by the invariant.
        let data = unsafe { DataRef::of_window(*window, *dtype, device, Access::Shared, None) };
        let data = match self.memory.import() {
            Some(import) => data.in_layout_of(import),
            None => data,
        };
        // SAFETY: 1. All work on the memory is on the stream of the buffer, or ordered
        // before it (4 of `from_raw_parts`), and `UsedStreams::sync_for` orders that before the
        // consumer's work. 2. `UsedStreams::sync_for` records the consumer's stream, and `drop`
        // frees the memory after the work on the recorded streams.
        unsafe { data.synchronized_by_backend(self) }
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }
}

impl<B: Backend> Synchronize for DeviceBuffer<B> {
    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.sync_for(consumer)
    }
}

impl<B: Backend> Clone for DeviceBuffer<B> {
    /// Makes another owner of the same memory.
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone() }
    }
}

impl<B: Backend> fmt::Debug for DeviceBuffer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("window", &self.memory.window)
            .field("dtype", &self.memory.dtype)
            .field("stream", &self.memory.stream)
            .field("uses", &self.memory.uses)
            .finish()
    }
}
