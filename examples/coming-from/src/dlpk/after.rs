//! The same volume. An import needs no promise about other writers, because elements
//! are read by value.

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage, ImportError, ImportedTensor};
use ndarray::Array3;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Volume {
    pub voxels: Array3<f64>,
}

#[derive(DLPackImport)]
pub struct Scan {
    pub data: ImportedStorage<f64>,
    pub shape: [usize; 3],
    pub strides: [isize; 3],
    pub byte_offset: usize,
}

/// The sum of the elements of a tensor.
///
/// # Safety
///
/// 1. `managed` is a tensor that may be consumed.
pub unsafe fn sum(managed: *mut DLManagedTensorVersioned) -> Result<f64, ImportError> {
    // SAFETY: by 1.
    let tensor = unsafe { ImportedTensor::from_raw(managed) }?;
    let scan = Scan::from_dlpack(tensor)?;
    Ok(scan.data.elements()?.iter().sum())
}
