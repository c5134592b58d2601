//! Kernels on the vendor's tensor.

use dlpack_traits::backend::{DeviceBuffer, WorkStream};
use dlpack_traits::{DataType, Error};

use crate::Tensor;
use crate::backend::Npu;
use crate::runtime::{Address, Stream};

impl Tensor {
    /// Zeros, for work on a stream.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::zeroed`].
    pub fn zeroed(stream: WorkStream<Npu>, shape: &[usize]) -> Result<Self, Error> {
        let len = shape.iter().product();
        let data = DeviceBuffer::zeroed_on(stream, DataType::F32, len)?;
        Ok(Self { data, shape: shape.to_vec() })
    }

    /// Enqueues a kernel on the tensor's stream that writes a value into all elements. The
    /// tensor can be exported at once.
    pub fn fill(&self, value: f32) {
        self.stream().fill(Address::from_ptr(self.data.as_ptr()), 0..self.data.byte_len(), value);
    }

    /// The stream on which it is filled.
    pub fn stream(&self) -> &Stream {
        self.data.stream().stream()
    }

    /// Its memory.
    pub fn data(&self) -> &DeviceBuffer<Npu> {
        &self.data
    }
}
