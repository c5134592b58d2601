//! Imported tensors as views of the crate `cudarc`.
//!
//! `cudarc` tracks the uses of a slice on all of its streams by events in the slice. Views are
//! therefore passed to a closure: a value with a destructor could be forgotten, and the tensor
//! would be released before those uses.

use alloc::sync::Arc;
use core::mem::ManuallyDrop;

use ::cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceRepr};

use super::cuda::Cuda;
use super::cudarc::{in_cudarc, keep_current, work_stream};
use crate::alignment::alignment;
use crate::backend::DeviceTensor;
use crate::backend::Stream;
use crate::device::Device;
use crate::element::{AnyBits, BitsAreValid};
use crate::error::Error;

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
