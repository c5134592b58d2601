//! Imported memory of a device: for kernels ([`DeviceTensor`]), in a [`DeviceBuffer`] with the stream on
//! which it is ready, and a check of the device that it claims ([`check_device`]).
//!
//! The pointer is only available for a named stream, after that stream waits for the work
//! that fills the memory. An `ImportedTensor` names no stream, so a kernel that is launched
//! with its pointer can run too early.

use core::ffi::c_void;
use core::fmt;
use core::mem::ManuallyDrop;

use super::backend_trait::{
    check_stream, has_addresses, is_read_by_host, memory_type, synchronize_device,
};
use super::frees::run_blocking;
use super::memory::MemoryRef;
use super::{
    Backend, DeviceBuffer, FreeOrder, HandleLifetime, MemoryType, Stream, SyncAction, UsedStreams,
    WorkStream,
};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::import::{ImportStorage, ImportedStorage, ImportedTensor, MismatchKind};
use crate::stream_arg::{ConsumerPlace, StreamKind};

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
        self.tensor.check_writable()?;
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

/// The memory of a tensor that was imported without a stream, of a device that the backend serves.
/// It is ready as the rules of the device state for a consumer that names no stream: on the default
/// stream, or at once. The buffer orders its consumers after that.
///
/// [`from_imported`](ImportStorage::from_imported) returns [`Error::NotOrdered`] for a tensor that
/// was imported for a stream, which a [`DeviceTensor`](super::DeviceTensor) stores
/// ([`into_buffer`](super::DeviceTensor::into_buffer)), and the errors of
/// [`from_foreign`](DeviceBuffer::from_foreign).
///
/// ```
/// use dlpack_traits::backend::{Cpu, DeviceBuffer};
/// # #[cfg(feature = "derive")] {
/// use dlpack_traits::{DLPackExport, DLPackImport, SharedTensor};
///
/// #[derive(DLPackExport, DLPackImport)]
/// struct OnDevice { data: DeviceBuffer<Cpu>, shape: [usize; 1] }
///
/// let samples = SharedTensor::new(vec![1.0_f32, 2.0], [2])?;
/// let kept = OnDevice::from_dlpack(samples.to_dlpack()?.import()?)?;
/// assert_eq!(kept.data.to_vec::<f32>()?, [1.0, 2.0]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<B: Backend> ImportStorage for DeviceBuffer<B> {
    fn accepts(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
        let found = tensor.device();
        if memory_type::<B>(found).is_none() {
            return Err(not_served::<B>(found));
        }
        if tensor.is_read_only() { Err(MismatchKind::Writable) } else { Ok(()) }
    }

    fn keeps_strides(_: &ImportedTensor) -> bool {
        true
    }

    fn from_imported(tensor: ImportedTensor) -> Result<Self, Error> {
        let stream = ready_on::<B>(&tensor)?;
        // SAFETY: 1. By `ready_on`.
        unsafe { Self::from_foreign(ImportedStorage::from(tensor), stream) }
    }
}

/// The error for memory of a device that the backend does not serve.
pub(crate) fn not_served<B: Backend>(found: Device) -> MismatchKind {
    let served = B::MEMORY_TYPES.iter().map(|kind| Device::new(kind.device_type(), 0));
    let name = |device: Device| device.kind_name().unwrap_or("another device").into();
    MismatchKind::Device { needed: served.map(name).collect(), found }
}

/// A stream after whose work the elements are ready.
fn ready_on<B: Backend>(tensor: &ImportedTensor) -> Result<WorkStream<B>, Error> {
    let device = tensor.device();
    match tensor.synchronized() {
        ConsumerPlace::DefaultStream => without_stream(device),
        // All work is done.
        ConsumerPlace::Host => WorkStream::current(device),
        ConsumerPlace::Stream => Err(Error::NotOrdered { device }),
    }
}

/// A stream on which a consumer that names none may work: the default stream, or any if the
/// producer has waited.
pub(super) fn without_stream<B: Backend>(device: Device) -> Result<WorkStream<B>, Error> {
    let current = WorkStream::<B>::current(device)?;
    match B::RULES.decide(device, current.handle(), StreamKind::Unspecified)? {
        SyncAction::Order { theirs, lives: HandleLifetime::Always } => {
            // SAFETY: 1. By 2 of `Backend`, the number of a default stream is a handle as long as the
            // process lives.
            unsafe { WorkStream::borrow(device, theirs) }
        }
        SyncAction::Order { .. } => Err(Error::NotOrdered { device }),
        SyncAction::Same | SyncAction::NoSync | SyncAction::Wait => Ok(current),
    }
}

/// Checks that the memory of a tensor is on the device that the tensor names, by a query of
/// the backend's runtime.
///
/// An import does not check this: the query is a call of the runtime per tensor, and
/// producers name their own device correctly. Use it for tensors of a producer that may be
/// wrong, before you launch work on them. The function passes only addresses to the runtime
/// and does not access the memory; for a tensor with elements, it checks both ends.
///
/// | device of the tensor | accepted if the runtime |
/// |---|---|
/// | a device of the backend | reports the memory as that device's |
/// | the CPU, or pinned memory of another device | does not recognize the memory, or reports that the host can access it |
/// | any other device | (never queried: [`Error::NoBackend`]) |
///
/// ```no_run
/// # #[cfg(feature = "cuda")] mod example {
/// use dlpack_traits::ImportedTensor;
/// use dlpack_traits::backend::{self, Cuda};
///
/// fn launch(tensor: &ImportedTensor) -> Result<(), dlpack_traits::Error> {
///     backend::check_device::<Cuda>(tensor)?;
///     // ...
///     Ok(())
/// }
/// # }
/// ```
///
/// # Errors
///
/// [`Error::DeviceMismatch`] with the device that the runtime reports in `storage`;
/// [`Error::NoBackend`] for memory that does not belong to the runtime, and for devices
/// that the backend does not serve; [`Error::Unsupported`] for a backend without
/// [`Backend::attributes`]; and those of the runtime.
pub fn check_device<B: Backend>(tensor: &ImportedTensor) -> Result<(), Error> {
    let claimed = tensor.device();
    let bytes = tensor.byte_range();
    if bytes.is_empty() {
        return Ok(());
    }
    let served = memory_type::<B>(claimed);
    if !served.map_or(claimed.has_addresses(), MemoryType::has_addresses) {
        return check::<B>(tensor.data_ptr().cast(), claimed);
    }
    let first = MemoryRef::of_first_element(tensor).address();
    // The range is half-open: the last byte is at `end - 1`.
    for offset in [bytes.start, bytes.end.saturating_sub(1)] {
        check::<B>(first.wrapping_offset(offset).cast(), claimed)?;
    }
    Ok(())
}

/// Checks one address or handle.
fn check<B: Backend>(data: *const c_void, claimed: Device) -> Result<(), Error> {
    if memory_type::<B>(claimed).is_some() {
        let known = B::attributes(data, claimed)?.device;
        return agree(claimed, known);
    }
    let Some(kind) = B::MEMORY_TYPES.first().filter(|_| claimed.is_host()) else {
        return Err(Error::NoBackend { device: claimed });
    };
    match B::attributes(data, Device::new(kind.device_type(), 0)) {
        Ok(known) if !known.host_accessible => agree(claimed, known.device),
        // The host can access pinned memory too.
        Ok(_) | Err(Error::NoBackend { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn agree(claimed: Device, known: Device) -> Result<(), Error> {
    if claimed == known {
        return Ok(());
    }
    Err(Error::DeviceMismatch { device: claimed, storage: known })
}
