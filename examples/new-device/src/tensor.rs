//! The vendor's tensor, whose memory is a `DeviceBuffer`.

use dlpack_traits::DLPackExport;
use dlpack_traits::backend::DeviceBuffer;

use crate::backend::Npu;

/// A tensor of `f32`s on an accelerator.
#[derive(Debug, DLPackExport)]
pub struct Tensor {
    pub(crate) data: DeviceBuffer<Npu>,
    pub(crate) shape: Vec<usize>,
}
