//! Another library on the same device: it imports tensors of any producer and works on
//! its own stream.

use dlpack_traits::backend::WorkStream;
use dlpack_traits::ffi::{DLManagedTensorVersioned, kDLExtDev};
use dlpack_traits::{DataType, Error, ImportedTensor};

use crate::backend::{Npu, failed};
use crate::runtime::{Address, Code};

/// A library that sums elements.
#[derive(Debug)]
pub struct Consumer {
    stream: WorkStream<Npu>,
    result: Address,
}

impl Consumer {
    /// The stream on which it works.
    pub fn new(stream: WorkStream<Npu>) -> Result<Self, Error> {
        let result = stream.stream().allocate(4).map_err(failed(stream.device(), "allocate"))?;
        Ok(Self { stream, result })
    }

    /// The stream to pass to a producer:
    /// `producer.to_dlpack_on(consumer.stream().as_arg())`.
    pub fn stream(&self) -> &WorkStream<Npu> {
        &self.stream
    }

    /// Enqueues the sum of a tensor's elements, and releases the tensor before the kernel
    /// begins.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::from_raw`], and errors for tensors that this library does
    /// not support. The tensor is then released.
    ///
    /// # Safety
    ///
    /// 1. A producer exported `managed` for [`stream`](Self::stream), and no one else will
    ///    call its deleter.
    pub unsafe fn sum(&self, managed: *mut DLManagedTensorVersioned) -> Result<(), Error> {
        // SAFETY: 1. to 5. The producer promises them, by our caller's 1.
        let tensor = unsafe { ImportedTensor::from_raw(managed) }?;
        let device = tensor.device();
        if device != self.stream.device() || device.device_type() != kDLExtDev {
            return Err(Error::DeviceMismatch { device: self.stream.device(), storage: device });
        }
        if tensor.dtype() != DataType::F32 {
            return Err(Error::ElementMismatch { requested: DataType::F32, found: tensor.dtype() });
        }
        if !tensor.is_row_major() {
            return Err(Error::NotContiguous);
        }
        // On this device `data` is a handle, which the host never dereferences; the offset
        // stays in `byte_offset`.
        let address = Address::from_ptr(tensor.data_ptr().cast_mut().cast());
        let start = usize::try_from(tensor.byte_offset()).map_err(|_| Error::SizeOverflow)?;
        let end = start.saturating_add(tensor.byte_range().end.unsigned_abs());
        self.stream.stream().sum(address, start..end, self.result);
        // This calls the deleter. The memory is freed after the kernel, because the
        // producer recorded the kernel's stream.
        Ok(())
    }

    /// Waits for the sum.
    pub fn result(&self) -> Result<f32, Code> {
        let mut sum = [0; 4];
        let stream = self.stream.stream();
        // SAFETY: 1. The bytes are valid until the copy is done, for which this waits.
        unsafe { stream.copy_to_host((self.result, 0), sum.as_mut_ptr(), sum.len()) };
        stream.synchronize()?;
        Ok(f32::from_ne_bytes(sum))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.stream.stream().free(self.result);
    }
}
