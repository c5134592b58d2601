//! Whether two imported tensors share memory: [`ImportedTensor::overlaps`].

use super::ImportedTensor;
use crate::device::Device;

impl ImportedTensor {
    /// Whether an element of this tensor and one of `other` share a byte, so that a write to one
    /// changes what a read of the other returns.
    ///
    /// `false` is exact for addresses. `true` may be wrong if both spans of memory intersect and the
    /// elements lie between each other in an irregular way; the channels of an image, or the real
    /// and the imaginary parts of an array, do not overlap. Tensors of two handles do not overlap on
    /// devices of OpenCL, Vulkan, Metal and WebGPU; on a vendor's own device they are compared as
    /// addresses.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, SharedTensor};
    ///
    /// let tensor = SharedTensor::new(vec![0.0_f32; 4], [4])?;
    /// let (x, out) = (tensor.to_dlpack()?.import()?, tensor.to_dlpack()?.import()?);
    /// assert!(x.overlaps(&out));
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    pub fn overlaps(&self, other: &Self) -> bool {
        let is_empty = |tensor: &Self| tensor.shape().contains(&0);
        if is_empty(self) || is_empty(other) {
            return false;
        }
        let devices = [self.device(), other.device()];
        let apart = devices[0] != devices[1];
        if apart && !devices.into_iter().all(Device::has_addresses) {
            return false;
        }
        if devices[0].has_handles() && self.data_ptr() != other.data_ptr() {
            return false;
        }
        // Bytes from address 0, or from the number of the handle: `data` of a vendor's own device may
        // be either.
        let first = |tensor: &Self| {
            (tensor.data_ptr().addr() as i128).saturating_add(tensor.byte_offset().into())
        };
        let (first, second) = (first(self), first(other));
        let span = |tensor: &Self, from: i128| {
            let bytes = tensor.byte_range();
            (from.saturating_add(bytes.start as i128), from.saturating_add(bytes.end as i128))
        };
        let (here, there) = (span(self, first), span(other, second));
        if here.1 <= there.0 || there.1 <= here.0 {
            return false;
        }
        // Every element of a tensor is a multiple of `step` bytes behind its first one.
        let mut steps = [self, other].into_iter().map(Self::common_step);
        let step = steps.try_fold(0, |step, next| Some(greatest_common_divisor(step, next?)));
        let sizes = [self, other].map(|tensor| tensor.dtype().byte_size());
        let (Some(step @ 1..), [Some(size), Some(other_size)]) = (step, sizes) else { return true };
        let behind = second.saturating_sub(first).rem_euclid(step);
        behind < size as i128 || step.saturating_sub(behind) < other_size as i128
    }

    /// The greatest common divisor of the distances of the elements in bytes, 0 for one element;
    /// `None` for elements that are not whole bytes.
    fn common_step(&self) -> Option<i128> {
        let size = self.dtype().byte_size()? as i128;
        let axes = self.shape().iter().zip(self.strides()).filter(|&(&dim, _)| dim > 1);
        Some(axes.fold(0, |step, (_, &stride)| {
            greatest_common_divisor(step, i128::from(stride).saturating_mul(size))
        }))
    }
}

fn greatest_common_divisor(first: i128, second: i128) -> i128 {
    let (mut divisor, mut rest) = (first.saturating_abs(), second.saturating_abs());
    while let Some(next) = divisor.checked_rem(rest) {
        (divisor, rest) = (rest, next);
    }
    divisor
}
