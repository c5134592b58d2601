//! A volume of `dlpk` 0.4, which converts everything except vectors through `ndarray`.

use dlpk::{DLPackTensor, sys};
use ndarray::{Array3, ArrayView3};

pub struct Volume {
    pub voxels: Array3<f64>,
}

impl Volume {
    pub fn export_owned(self) -> *mut sys::DLManagedTensorVersioned {
        let tensor = DLPackTensor::try_from(self.voxels).expect("a tensor");
        tensor.into_raw().as_ptr()
    }
}

/// The sum of the elements of a tensor.
///
/// # Safety
///
/// 1. `managed` is a tensor that may be consumed, and no one writes to it meanwhile.
pub unsafe fn sum(managed: *mut sys::DLManagedTensorVersioned) -> f64 {
    // SAFETY: by 1.
    let tensor = unsafe { DLPackTensor::from_ptr(managed) };
    let view = ArrayView3::<f64>::try_from(tensor.as_ref()).expect("a volume");
    view.sum()
}
