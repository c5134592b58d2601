//! Slices of the crate `cudarc` as storages, and imported tensors as its views.
//!
//! `cudarc` tracks the uses of a slice on all of its streams by events in the slice. Views are
//! therefore passed to a closure: a value with a destructor could be forgotten, and the tensor
//! would be released before those uses.

use alloc::sync::Arc;
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

use ::cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, DriverError,
};

use super::Cuda;
use super::cuda::{CudaDriver, Current};
use super::vendor::runtime;
use crate::alignment::alignment;
use crate::backend::library::driver_text;
use crate::backend::{
    DeviceBuffer, DeviceTensor, FreeOrder, MemoryRange, Stream, StreamHandle, StreamRules,
    SyncAction, WorkStream, device_error,
};
use crate::device::Device;
use crate::element::{AnyBits, BitsAreValid, Element};
use crate::error::Error;
use crate::storage::{DataMut, DataRef, Storage};
use crate::stream_arg::{StreamArg, StreamKind, Synchronize};

/// Converts a slice into a buffer, which can be exported to consumers on any stream. The
/// memory is freed in the order of the slice's stream, after the work of all consumers.
///
/// ```no_run
/// use cudarc::driver::CudaContext;
/// use dlpack_traits::backend::{Cuda, DeviceBuffer};
///
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let data = DeviceBuffer::<Cuda>::try_from(stream.clone_htod(&[1.0_f32, 2.0])?)?;
/// assert_eq!(data.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the slice belongs to a context other than the primary one, or to a per-thread default
/// stream; and those of the driver.
impl<T: AnyBits + DeviceRepr + Send + Sync> TryFrom<CudaSlice<T>> for DeviceBuffer<Cuda> {
    type Error = Error;

    fn try_from(slice: CudaSlice<T>) -> Result<Self, Error> {
        let () = BitsAreValid::<T>::OK;
        let _current = keep_current(gpu(&slice)?)?;
        // It is moved here, so that it is dropped before `_current`.
        let mut slice = slice;
        let device = device(&slice)?;
        let stream = Arc::clone(slice.stream());
        let work = work_stream(device, &stream)?;
        let byte_len = slice.num_bytes();
        let _tracked = track_uses(device, &stream)?;
        // Orders the work of other streams on the slice before later work of its own
        // stream.
        let address = checked(device, &stream, || slice.device_ptr_mut(&stream).0)?;
        let data = NonNull::new(pointer(address)).ok_or(Error::NullData)?;
        let memory = MemoryRange::new(data, byte_len);
        let owner = Owner { slice: Some(slice), device };
        // SAFETY: 1. `owner` holds the slice, whose memory has as many bytes. 2. A slice is
        // initialized, any bits are valid elements (`AnyBits`), and the driver aligns to
        // 256 bytes. 3. It is memory of the GPU, and `owner` is its only owner. 4. By the
        // lines above. 5. The slice frees its memory in the order of its stream, or waits
        // for that stream itself.
        Ok(unsafe { Self::from_raw_parts(memory, T::DTYPE, work, owner, FreeOrder::StreamOrdered) })
    }
}

/// Lends a slice to consumers on the slice's own stream, and to consumers that work
/// synchronously. A slice frees its memory in the order of its own stream and cannot record
/// others. For consumers on other streams, use `DeviceBuffer<Cuda>`.
impl<T: Element + DeviceRepr> Storage for CudaSlice<T> {
    fn data(&self) -> DataRef<'_> {
        let Ok(device) = device(self) else {
            return DataRef::refused(&NOT_PRIMARY);
        };
        let first = address(self, device);
        // SAFETY: 1. The slice has the bytes while it is borrowed. 2. It is initialized
        // with `T`s. 3. Writing to it requires an exclusive borrow.
        let data = unsafe { DataRef::from_raw_parts(first, self.num_bytes(), T::DTYPE, device) };
        // SAFETY: 1. `sync_for` orders the work on the slice before its own stream. 2. The
        // slice is freed in the order of that stream, and `sync_for` rejects all others.
        unsafe { data.with_axes(T::AXES).synchronized_by(self) }
    }

    fn data_mut(&mut self) -> DataMut<'_> {
        // Foreign code may write any bytes. Elements with axes cannot be lent in another
        // way.
        let lendable = T::ANY_BITS && T::AXES.is_empty();
        let Ok(device) = device(self) else {
            return DataMut::refused(&NOT_PRIMARY);
        };
        if !lendable {
            return self.data().into();
        }
        let stream = Arc::clone(self.stream());
        // Orders reads by other streams before later work of its stream, which may write.
        let ordered = keep_current(device).and_then(|_current| {
            let _tracked = track_uses(device, &stream)?;
            checked(device, &stream, || self.device_ptr_mut(&stream).0)
        });
        let Ok(address) = ordered else {
            return DataMut::refused(&NOT_ORDERED);
        };
        let data = pointer(address).cast();
        // SAFETY: 1. The slice has the bytes while it is borrowed. 2. It is
        // initialized, and any bits are a `T`. 3. It is borrowed exclusively.
        let data = unsafe { DataMut::from_raw_parts(data, self.num_bytes(), T::DTYPE, device) };
        // SAFETY: 1. and 2. as above.
        unsafe { data.synchronized_by(self) }
    }
}

impl<T> Synchronize for CudaSlice<T> {
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        let (device, stream) = (device(self)?, self.stream());
        consumer.check_device(device)?;
        let _current = keep_current(device)?;
        let ours = work_stream(device, stream)?;
        let _tracked = track_uses(device, stream)?;
        // Orders writes by other streams before later work of its stream.
        checked(device, stream, || drop(self.device_ptr(stream)))?;
        // A `WorkStream` consumer continues on the current stream after this returns.
        let current;
        let consumer = if consumer.kind() == StreamKind::WorkStream {
            current = WorkStream::<Cuda>::current(device)?;
            current.as_arg()
        } else {
            consumer
        };
        match StreamRules::CUDA.decide(device, ours.handle(), consumer.kind())? {
            SyncAction::Same => Ok(()),
            SyncAction::Wait => ours.synchronize(),
            SyncAction::NoSync | SyncAction::Order { .. } => Err(OTHER_STREAM),
        }
    }
}

const NOT_PRIMARY: Error =
    Error::Custom("a `CudaSlice` of a context other than the device's primary one");
const NOT_ORDERED: Error =
    Error::Custom("`cudarc` could not order the stream of a `CudaSlice` after its uses on others");
const OTHER_STREAM: Error = Error::Custom(
    "a `CudaSlice` cannot be used on another stream than its own; make it a `DeviceBuffer<Cuda>`",
);

/// A slice that is dropped with its context current, on any thread.
struct Owner<T> {
    slice: Option<CudaSlice<T>>,
    device: Device,
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        let _current = keep_current(self.device);
        drop(self.slice.take());
    }
}

/// A guard that restores the current context of the thread. cudarc makes the context of a
/// slice or a stream current in most of its functions, destructors included, and does not
/// restore the previous one. A library that uses another GPU on this thread would then
/// continue on this GPU.
fn keep_current(device: Device) -> Result<Current, Error> {
    // cudarc replaces the context that is pushed here; the guard pops it.
    runtime::<CudaDriver>()?.state.push(device, device.device_id())
}

/// The GPU of a slice.
fn gpu<T>(slice: &CudaSlice<T>) -> Result<Device, Error> {
    i32::try_from(slice.ordinal()).map(Device::cuda).map_err(|_| NOT_PRIMARY)
}

/// The GPU of a slice, if the slice is of its primary context.
fn device<T>(slice: &CudaSlice<T>) -> Result<Device, Error> {
    if slice.context().is_primary() { gpu(slice) } else { Err(NOT_PRIMARY) }
}

/// The address of the first byte of a slice of that device. It is not ordered on any
/// stream.
fn address<T>(slice: &CudaSlice<T>, device: Device) -> *const u8 {
    let _current = keep_current(device);
    pointer(slice.device_ptr(slice.stream()).0).cast_const().cast()
}

fn pointer(address: u64) -> *mut c_void {
    // A device address, which the processor does not dereference.
    usize::try_from(address).map_or(ptr::null_mut(), ptr::without_provenance_mut)
}

/// A stream that makes cudarc wait for the uses of slices on other streams. A context that
/// has no stream besides the default one records no uses and waits for none, including those
/// on streams that the program has dropped before their work has ended.
///
/// A stream that cudarc created is counted itself, so `None` is returned for it. It may be
/// captured; a second stream would join the capture.
fn track_uses(device: Device, stream: &Arc<CudaStream>) -> Result<Option<Arc<CudaStream>>, Error> {
    let is_default = stream.cu_stream().is_null();
    if !is_default && stream.context().is_in_multi_stream_mode() {
        return Ok(None);
    }
    in_cudarc(device, stream.fork()).map(Some)
}

fn work_stream(device: Device, stream: &Arc<CudaStream>) -> Result<WorkStream<Cuda>, Error> {
    let handle = StreamHandle::from_ptr(stream.cu_stream().cast());
    // SAFETY: 1. A stream of cudarc lives as long as its `Arc`, which is kept.
    unsafe { Cuda::stream_kept_by(device, handle, Arc::<CudaStream>::clone(stream)) }
}

/// Calls functions of cudarc that record an error in the context instead of returning it.
/// Errors that the program's other calls recorded there are preserved.
fn checked<R>(device: Device, stream: &CudaStream, calls: impl FnOnce() -> R) -> Result<R, Error> {
    let context = stream.context();
    let before = context.check_err();
    let made = calls();
    let failed = context.check_err();
    context.record_err(before);
    in_cudarc(device, failed.map(|()| made))
}

/// Converts an error of cudarc.
fn in_cudarc<R>(device: Device, result: Result<R, DriverError>) -> Result<R, Error> {
    result.map_err(|DriverError(code)| {
        device_error(device, "cudarc", code as i64, driver_text(device, code as i32))
    })
}

impl DeviceTensor<Cuda> {
    /// Calls `run` with the elements as a view of `cudarc`, for work on `stream`, which first
    /// waits for the work that fills the memory. The tensor is released after the work.
    ///
    /// ```no_run
    /// # #[cfg(feature = "pyo3")] {
    /// use cudarc::driver::CudaContext;
    /// use dlpack_traits::backend::{Cuda, DeviceBuffer};
    /// use dlpack_traits::python::PyDeviceTensor;
    ///
    /// /// A copy of an array.
    /// fn copied(
    ///     x: &PyDeviceTensor<'_, Cuda, f32, 1>,
    /// ) -> Result<DeviceBuffer<Cuda>, Box<dyn std::error::Error>> {
    ///     let stream = CudaContext::new(0)?.default_stream();
    ///     let copy =
    ///         x.with_cuda_view::<f32, _>(&stream, |elements| stream.clone_dtod(&elements))??;
    ///     Ok(copy.try_into()?)
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`]; [`Error::NotContiguous`] if the elements are not contiguous
    /// in row-major order; [`Error::Misaligned`]; [`Error::DeviceMismatch`] for a stream of
    /// another GPU; an [`Error::Custom`] for one of another context than the primary one;
    /// those of [`as_ptr_on`](Self::as_ptr_on).
    ///
    /// # Panics
    ///
    /// If `cudarc` cannot create the events by which it tracks uses of the slice.
    pub fn with_cuda_view<T: AnyBits + DeviceRepr, R>(
        &self,
        stream: &Arc<CudaStream>,
        run: impl FnOnce(CudaView<'_, T>) -> R,
    ) -> Result<R, Error> {
        Ok(run(self.cuda_slice(stream)?.slice.as_view()))
    }

    /// [`with_cuda_view`](Self::with_cuda_view), for reads and writes.
    ///
    /// Other owners of the memory may exist, so the view is not the only one. Two views of
    /// one tensor, also of one `DeviceTensor` in nested closures, are separate slices for
    /// `cudarc`: it does not order work on them unless both work on the same stream.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], and those of `with_cuda_view`.
    pub fn with_cuda_view_mut<T: AnyBits + DeviceRepr, R>(
        &self,
        stream: &Arc<CudaStream>,
        run: impl FnOnce(CudaViewMut<'_, T>) -> R,
    ) -> Result<R, Error> {
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        Ok(run(self.cuda_slice(stream)?.slice.as_view_mut()))
    }

    fn cuda_slice<T: AnyBits + DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
    ) -> Result<BorrowedSlice<T>, Error> {
        let () = BitsAreValid::<T>::OK;
        let (device, requested, found) = (self.device(), T::DTYPE, self.dtype());
        if requested != found || !T::AXES.is_empty() {
            return Err(Error::ElementMismatch { requested, found });
        }
        if !self.is_row_major() {
            return Err(Error::NotContiguous);
        }
        let gpu = i32::try_from(stream.context().ordinal()).map(Device::cuda);
        if gpu != Ok(device) {
            let stream = gpu.unwrap_or(device);
            return Err(Error::DeviceMismatch { device: stream, storage: device });
        }
        let _current = keep_current(device)?;
        // It rejects a stream of another context.
        let work = work_stream(device, stream)?;
        let address = self.as_ptr_on(&work)?.address().addr();
        let align = alignment(found, device).unwrap_or(1).max(align_of::<T>());
        if address & align.wrapping_sub(1) != 0 {
            return Err(Error::Misaligned { dtype: found, align });
        }
        let len = usize::try_from(self.numel()).map_err(|_| Error::SizeOverflow)?;
        let address = u64::try_from(address).map_err(|_| Error::SizeOverflow)?;
        if work.stream().is_captured()? {
            let what = "view of `cudarc` on a stream that is captured";
            return Err(Error::Unsupported { device, what });
        }
        let tracked = in_cudarc(device, stream.fork())?;
        // SAFETY: the tensor has as many elements, contiguous, any bits of which are a `T`.
        // `BorrowedSlice` does not free them, and is dropped before the tensor.
        let slice = unsafe { stream.upgrade_device_ptr(address, len) };
        Ok(BorrowedSlice { slice: ManuallyDrop::new(slice), device, _tracked: tracked })
    }
}

/// A slice of memory that it does not own.
struct BorrowedSlice<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    device: Device,
    /// A second stream. Without one `cudarc` records no uses and waits for none, also if the
    /// closure creates a stream, uses the slice there, and drops the stream.
    _tracked: Arc<CudaStream>,
}

impl<T> Drop for BorrowedSlice<T> {
    /// Makes the stream of the slice wait for its uses on other streams of `cudarc`.
    fn drop(&mut self) {
        let _current = keep_current(self.device);
        // SAFETY: the slice is taken here only.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        slice.leak();
    }
}
