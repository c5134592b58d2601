//! Imported memory of a device, for kernels: [`DeviceTensor`].
//!
//! The pointer is only available for a named stream, after that stream waits for the work
//! that fills the memory. An `ImportedTensor` names no stream, so a kernel that is launched
//! with its pointer can run too early.

use core::fmt;
use core::mem::ManuallyDrop;

use super::backend_trait::{check_stream, has_addresses, is_read_by_host, synchronize_device};
use super::frees::run_blocking;
use super::memory::MemoryRef;
use super::{Backend, DeviceBuffer, FreeOrder, Stream, UsedStreams, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::import::{ImportedStorage, ImportedTensor};
use crate::strides;

/// An imported tensor in memory of a device, with the stream on which it is ready.
///
/// A function launches its kernels on [`stream`](Self::stream), or on any other stream of
/// the backend: [`as_ptr_on`](Self::as_ptr_on) orders the work before it, and the release
/// of the tensor after it. There is no access from the host.
///
/// Launch all work on the tensor before it is dropped. The drop does not wait on the host
/// if the producer reuses the memory in the order of the stream
/// ([`FreeOrder::StreamOrdered`]).
pub struct DeviceTensor<B: Backend> {
    tensor: ManuallyDrop<ImportedTensor>,
    stream: WorkStream<B>,
    /// The other streams on which the tensor is used.
    uses: UsedStreams<B>,
    freed: FreeOrder,
}

impl<B: Backend> DeviceTensor<B> {
    /// Combines an imported tensor with the stream on which it is ready.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMismatch`] for a stream that cannot work on the memory. The tensor is then released.
    ///
    /// # Safety
    ///
    /// 1. All work of the producer on the memory is done, or enqueued on `stream` or ordered before
    ///    it.
    /// 2. If `freed` is [`FreeOrder::StreamOrdered`], the producer reuses the memory after
    ///    the work that is enqueued on `stream` when the tensor is released.
    pub unsafe fn new(
        tensor: ImportedTensor,
        stream: WorkStream<B>,
        freed: FreeOrder,
    ) -> Result<Self, Error> {
        check_stream::<B>(stream.device(), tensor.device())?;
        let (tensor, uses) = (ManuallyDrop::new(tensor), UsedStreams::new());
        let made = Self { tensor, stream, uses, freed };
        // Work of this program waits for the producer's on a queue without an order too.
        made.stream.stream().fence()?;
        Ok(made)
    }

    /// Keeps the tensor as the memory of a buffer, which orders consumers after the work on the tensor:
    /// an argument of a function as a field of a class. The tensor is released after a wait.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::from_foreign`]. The tensor is then released.
    pub fn into_buffer(mut self) -> Result<DeviceBuffer<B>, Error> {
        self.order_uses()?;
        let foreign = ImportedStorage::from(self.tensor.another_owner());
        // SAFETY: 1. By 1 of `new`, and by the lines above. The program orders later work of the
        // producer, as all accesses of foreign code.
        let buffer = unsafe { DeviceBuffer::from_foreign(foreign, self.stream.clone()) }?;
        // The buffer releases the tensor, so the drop of this owner waits for nothing.
        (self.uses, self.freed) = (UsedStreams::new(), FreeOrder::StreamOrdered);
        Ok(buffer)
    }

    /// The elements for the processor, as a tensor on [`Device::CPU`](Device::CPU): memory that the backend
    /// states to be [read by the host](super::MemoryType::read_by_host), such as pinned or unified
    /// memory. The host waits for the work on the tensor, whose producer keeps the streams of the device
    /// from writing the elements at the moment of a read.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`] for other memory, and for managed memory of CUDA, which the processor must
    /// not access on some systems while any kernel runs; those of the runtime. The tensor is then released.
    pub fn into_host(mut self) -> Result<ImportedTensor, Error> {
        let device = self.device();
        let is_read = is_read_by_host::<B>(device) && has_addresses::<B>(device);
        if !is_read || device.device_type() == ffi::kDLCUDAManaged {
            return Err(Error::NotOnHost { device });
        }
        self.freed = FreeOrder::Immediate;
        self.order_release()?;
        let tensor = self.tensor.another_owner();
        // All work is done, so the drop of this owner waits for nothing.
        (self.uses, self.freed) = (UsedStreams::new(), FreeOrder::StreamOrdered);
        drop(self);
        // SAFETY: 1. By 9 of `Backend`, `data` is an address at which the processor reads, and by 4 of
        // `ImportedTensor::from_raw` it may; the host has waited for the work that fills the memory.
        unsafe { tensor.into_host() }
    }

    /// The stream on which the memory is ready.
    #[inline]
    pub fn stream(&self) -> &WorkStream<B> {
        &self.stream
    }

    /// The location of the first element, for reads by work that is launched on `stream` after this
    /// call: its [`address`](MemoryRef::address), or on devices without addresses the handle of
    /// the memory with the offset of the element. NULL if there are no elements.
    ///
    /// If `stream` is another stream than [`stream`](Self::stream), it first waits for the
    /// work that fills the memory, and the tensor is released after its work.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a stream that cannot wait for the tensor's;
    /// [`Error::DeviceMismatch`] for a stream that cannot work on the memory
    /// ([`MemoryType`](super::MemoryType)); and those of the runtime.
    pub fn as_ptr_on(&self, stream: &WorkStream<B>) -> Result<MemoryRef, Error> {
        check_stream::<B>(stream.device(), self.device())?;
        // The release makes the tensor's stream wait for this one.
        self.stream.stream().can_follow(stream.stream())?;
        self.uses.order_on(&self.stream, stream)?;
        Ok(MemoryRef::of_first_element(&self.tensor))
    }

    /// [`as_ptr_on`](Self::as_ptr_on), for reads and writes. Streams order the accesses
    /// with those of other owners; there is no Rust reference to the elements.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Overlapping`] for elements that share memory; and those
    /// of `as_ptr_on`.
    pub fn as_mut_ptr_on(&self, stream: &WorkStream<B>) -> Result<MemoryRef, Error> {
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        if strides::may_overlap(self.shape(), self.strides()) {
            return Err(Error::Overlapping);
        }
        self.as_ptr_on(stream)
    }

    /// Shape, in elements.
    pub fn shape(&self) -> &[i64] {
        self.tensor.shape()
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[i64] {
        self.tensor.strides()
    }

    /// Number of elements.
    pub fn numel(&self) -> i64 {
        self.tensor.numel()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DataType {
        self.tensor.dtype()
    }

    /// The device of the memory.
    pub fn device(&self) -> Device {
        self.tensor.device()
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_row_major(&self) -> bool {
        self.tensor.is_row_major()
    }

    /// Whether the producer forbids writes.
    pub fn is_read_only(&self) -> bool {
        self.tensor.is_read_only()
    }

    /// The tensor. It must not give safe code access to the elements: work may be pending.
    #[cfg(feature = "pyo3")]
    pub(crate) fn imported(&self) -> &ImportedTensor {
        &self.tensor
    }

    /// Orders the stream after the work of others that got the location.
    fn order_uses(&self) -> Result<(), Error> {
        self.uses.order_before(&self.stream)?;
        if self.uses.elsewhere() {
            return synchronize_device::<B>(self.stream.device());
        }
        Ok(())
    }

    /// Orders the release after all work on the tensor.
    fn order_release(&self) -> Result<(), Error> {
        self.order_uses()?;
        let device = self.stream.device();
        if self.uses.elsewhere() {
            return Ok(());
        }
        if self.freed == FreeOrder::StreamOrdered || !B::RULES.has_streams() {
            return Ok(());
        }
        if self.stream.stream().is_captured()? {
            // A wait would invalidate the capture.
            let what = "wait of the host for a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        run_blocking(|| self.stream.synchronize())
    }
}

impl<B: Backend> Drop for DeviceTensor<B> {
    /// Releases the tensor after all work on it. If that order cannot be established, the
    /// tensor is leaked, because its producer could free memory in use.
    fn drop(&mut self) {
        if self.order_release().is_ok() {
            // SAFETY: the tensor is dropped here only, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.tensor) }
        }
    }
}

impl<B: Backend> fmt::Debug for DeviceTensor<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTensor")
            .field("tensor", &*self.tensor)
            .field("stream", &self.stream)
            .field("uses", &self.uses)
            .field("freed", &self.freed)
            .finish()
    }
}
