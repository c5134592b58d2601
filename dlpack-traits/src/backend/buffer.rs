//! Device memory as the `data` of a tensor: [`DeviceBuffer`].
//!
//! The memory is lent as that of a `SharedBuffer` is: there is no Rust reference to an
//! element, so clones, exports and consumers may all write.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::Any;
use core::ffi::c_void;
use core::fmt;
use core::mem::{self, ManuallyDrop};
use core::ptr::NonNull;

use super::backend_trait::{AllocatorOf, MemcpyOf};
use super::blocking::{run_blocking, synchronize_device};
use super::memory::MemoryRef;
use super::staged::{from_host, to_host};
use super::{Allocator, Backend, ConsumerStreams, Memcpy, Stream, WorkStream, deferred_free};
use crate::byte_atomic;
use crate::device::Device;
use crate::dtype::DataType;
use crate::element::{AnyBits, Element, bytes_of, bytes_of_mut, zero};
use crate::error::Error;
use crate::storage::{DataRef, SharedOwner, Storage, TryArc, try_vec};
use crate::stream::{StreamArg, Synchronize};

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

/// The memory, and its owner.
struct Allocation<B: Backend> {
    data: NonNull<c_void>,
    byte_len: usize,
    dtype: DataType,
    stream: WorkStream<B>,
    uses: ConsumerStreams<B>,
    owner: Owner<B>,
}

/// What frees the memory.
enum Owner<B: Backend> {
    /// The backend's allocator.
    Backend(AllocatorOf<B>),
    /// A value of the caller's: dropping it frees the memory.
    Value(ManuallyDrop<Box<dyn Any + Send + Sync>>, FreeOrder),
    /// Another record of the same memory, which is on the list of deferred frees.
    Deferred,
}

/// When memory that a value owns may be reused, once the value is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeOrder {
    /// After the work on the stream of the buffer, as by `cuMemFreeAsync`.
    StreamOrdered,
    /// At once. The host therefore waits for the stream before it drops the value.
    Immediate,
}

// SAFETY: `Allocation` never dereferences the address; the value that owns the memory, and
// streams, are `Send`.
unsafe impl<B: Backend> Send for Allocation<B> {}
// SAFETY: through `&Allocation`, the address is only copied, and uses are recorded by atomics.
unsafe impl<B: Backend> Sync for Allocation<B> {}

// The bounds are on the functions, so that the compiler reports a missing trait with the
// messages of `on_unimplemented`.
impl<B: Backend> DeviceBuffer<B> {
    /// Allocates `len` elements, all of them zero, for work on the current stream.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`], [`Error::SizeOverflow`],
    /// [`Error::OutOfMemory`], and those of the device.
    pub fn zeroed(device: Device, dtype: DataType, len: usize) -> Result<Self, Error>
    where
        B: Allocator,
    {
        Self::zeroed_on(WorkStream::current(device)?, dtype, len)
    }

    /// Allocates `len` elements, all of them zero, for work on that stream.
    ///
    /// # Errors
    ///
    /// Those of [`zeroed`](Self::zeroed).
    pub fn zeroed_on(stream: WorkStream<B>, dtype: DataType, len: usize) -> Result<Self, Error>
    where
        B: Allocator,
    {
        let byte_len = Self::byte_len_of(dtype, len)?;
        Self::allocated(AllocatorOf::THIS, stream, dtype, byte_len)
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
    /// Those of [`zeroed`](Self::zeroed).
    pub fn from_slice<T: Element>(device: Device, elements: &[T]) -> Result<Self, Error>
    where
        B: Allocator + Memcpy,
    {
        let buffer = Self::allocated(
            AllocatorOf::THIS,
            WorkStream::current(device)?,
            T::DTYPE,
            size_of_val(elements),
        )?;
        let bytes = bytes_of(elements);
        // SAFETY: 1. The buffer is new, has as many bytes, and is freed after the work of its
        // stream.
        unsafe { from_host(&MemcpyOf::THIS, buffer.stream(), bytes, buffer.place()) }?;
        Ok(buffer)
    }

    /// Copies the elements to the host, after the work on the buffer's stream.
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`], [`Error::OutOfMemory`], and those of the device.
    pub fn to_vec<T: AnyBits>(&self) -> Result<Vec<T>, Error>
    where
        B: Memcpy,
    {
        if self.dtype() != T::DTYPE {
            return Err(Error::ElementMismatch { requested: T::DTYPE, found: self.dtype() });
        }
        let len = self.byte_len().checked_div(size_of::<T>()).unwrap_or(0);
        let mut elements = try_vec(len)?;
        elements.resize(len, zero());
        let to = bytes_of_mut(&mut elements);
        if self.device() == Device::CPU {
            // Not by the backend: other threads can write the memory through an import of it.
            // SAFETY: 1. The buffer has the bytes, which may be read and written. 2. By 3 of
            // `from_raw_parts`; Rust code accesses memory of the allocator byte-wise
            // atomically. 3. `to` is borrowed uniquely, and has no more bytes.
            unsafe {
                byte_atomic::copy_from_shared(self.as_ptr().cast(), to.as_mut_ptr(), to.len());
            }
            return Ok(elements);
        }
        // SAFETY: 1. The buffer has the bytes, and is freed after the work of its stream.
        unsafe { to_host(&MemcpyOf::THIS, self.stream(), self.place(), to) }?;
        Ok(elements)
    }

    /// Allocates memory by the backend's allocator.
    pub(super) fn allocated(
        allocator: AllocatorOf<B>,
        stream: WorkStream<B>,
        dtype: DataType,
        byte_len: usize,
    ) -> Result<Self, Error> {
        if isize::try_from(byte_len).is_err() {
            return Err(Error::OutOfMemory { bytes: byte_len });
        }
        deferred_free::work_off();
        // At least one byte: an empty buffer has an address, or a handle, too.
        let data = (allocator.allocate)(&stream, byte_len.max(1))?;
        // On an error, `new` drops the owner, which frees the memory.
        Self::new(data, byte_len, dtype, stream, Owner::Backend(allocator))
    }

    /// Adopts memory that the caller allocated. `owner` is dropped when the last user
    /// releases the memory, on any thread. If the stream is being captured at that time,
    /// `owner` is never dropped.
    ///
    /// # Safety
    ///
    /// 1. Until `owner` is dropped, `data` is the first of `byte_len` bytes of one
    ///    allocation on the device of `stream` (or, where
    ///    [`Device::has_addresses`] is false, a handle to an object of as many),
    ///    and `byte_len` is at most `isize::MAX`.
    /// 2. They are initialized, any pattern of bits in them is acceptable to
    ///    their owner, and `data` is aligned for `dtype`.
    /// 3. They may be read and written. If the processor can reach them, Rust code
    ///    accesses them in ways that do not race with byte-wise relaxed atomic reads and
    ///    writes at any moment: byte-wise atomically itself (`AtomicU8`), or not at the
    ///    same time. No other Rust reference to them is in use.
    /// 4. All work on them is done, or enqueued on `stream` or ordered before it; later
    ///    work outside of hand-offs is too.
    /// 5. When `owner` was dropped, the memory is free at the time that `freed` specifies.
    pub unsafe fn from_raw_parts<O: Send + Sync + 'static>(
        data: NonNull<c_void>,
        byte_len: usize,
        dtype: DataType,
        stream: WorkStream<B>,
        owner: O,
        freed: FreeOrder,
    ) -> Self {
        let owner = Owner::Value(ManuallyDrop::new(Box::new(owner)), freed);
        // If the allocation fails, the program aborts, as for the box above.
        Self::new(data, byte_len, dtype, stream, owner)
            .unwrap_or_else(|_| alloc::alloc::handle_alloc_error(Layout::new::<Allocation<B>>()))
    }

    fn new(
        data: NonNull<c_void>,
        byte_len: usize,
        dtype: DataType,
        stream: WorkStream<B>,
        owner: Owner<B>,
    ) -> Result<Self, Error> {
        let uses = ConsumerStreams::new();
        let memory = Allocation { data, byte_len, dtype, stream, uses, owner };
        Ok(Self { memory: TryArc::new(memory)? })
    }

    /// First byte of the memory, or its handle on devices without addresses.
    /// The host must not dereference it.
    pub fn as_ptr(&self) -> *mut c_void {
        self.memory.data.as_ptr()
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> usize {
        self.memory.byte_len
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
    /// Those of [`ConsumerStreams::sync_for`].
    #[inline]
    pub fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.memory.uses.sync_for(&self.memory.stream, consumer)
    }

    /// The location of its first byte.
    pub(super) fn place(&self) -> MemoryRef {
        MemoryRef { device: self.device(), data: self.as_ptr(), byte_offset: 0 }
    }
}

impl<B: Backend> Drop for Allocation<B> {
    /// Frees the memory after all uses. If the device failed, so that this order cannot be
    /// established, the memory is leaked, because freeing it too early would be undefined
    /// behaviour.
    ///
    /// If work cannot be enqueued on this stream only because another stream is being
    /// captured, the memory is freed by the first allocation or free after the end of that
    /// capture.
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Deferred) {
            return;
        }
        if self.stream.stream().is_blocked() {
            let owner = mem::replace(&mut self.owner, Owner::Deferred);
            let (uses, stream) = (mem::take(&mut self.uses), self.stream.clone());
            let (data, byte_len, dtype) = (self.data, self.byte_len, self.dtype);
            deferred_free::later(Self { data, byte_len, dtype, stream, uses, owner });
            return;
        }
        deferred_free::work_off();
        if self.uses.order_before(&self.stream).is_err() {
            return;
        }
        let elsewhere = self.uses.elsewhere();
        match &mut self.owner {
            Owner::Deferred => {}
            Owner::Backend(allocator) => {
                let deallocate =
                    if elsewhere { allocator.deallocate_after_all } else { allocator.deallocate };
                // SAFETY: 1. `allocated` got it from this allocator, with that length, and
                // this is its only free. 2. Uses on known streams are ordered before the
                // stream's next work by the line above; our own uses are on the stream
                // itself.
                let _ = unsafe { deallocate(&self.stream, self.data, self.byte_len.max(1)) };
            }
            Owner::Value(owner, freed) => {
                // During a capture, work that the destructor enqueues would become part of
                // the graph, and a wait would invalidate the capture.
                if !matches!(self.stream.stream().is_captured(), Ok(false)) {
                    return;
                }
                let device = self.stream.device();
                let done = match freed {
                    _ if elsewhere => synchronize_device::<B>(device),
                    FreeOrder::StreamOrdered => Ok(()),
                    FreeOrder::Immediate => run_blocking(|| self.stream.synchronize()),
                };
                if done.is_ok() {
                    // SAFETY: the value is dropped here only, and not used afterwards.
                    unsafe { ManuallyDrop::drop(owner) }
                }
            }
        }
    }
}

impl<B: Backend> Storage for DeviceBuffer<B> {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        // SAFETY: for memory of the allocator: 1. It lives as long as `self`. 2. It was
        // zeroed, any bits are valid, and it is aligned to 64 bytes or more. 3. We own it,
        // and nothing here makes a reference to it. For adopted memory: 1. to 3. of
        // `from_raw_parts`.
        let data = unsafe {
            DataRef::from_raw_parts_shared(
                self.memory.data.as_ptr().cast(),
                self.memory.byte_len,
                self.memory.dtype,
                self.device(),
            )
        };
        // SAFETY: 1. All work on the memory is on the stream of the buffer, or ordered
        // before it (4 of `from_raw_parts`), and `ConsumerStreams::sync_for` orders that before the
        // consumer's work. 2. `ConsumerStreams::sync_for` records the consumer's stream, and `drop`
        // frees the memory after the work on the recorded streams.
        unsafe { data.synchronized_by(self) }
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
            .field("data", &self.memory.data)
            .field("byte_len", &self.memory.byte_len)
            .field("dtype", &self.memory.dtype)
            .field("stream", &self.memory.stream)
            .field("uses", &self.memory.uses)
            .finish()
    }
}
