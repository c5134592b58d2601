use dlpack_traits::ffi::DLManagedTensorVersioned;

use dlpack_traits::{DataRef, Error, ImportedTensor, Synchronize};

pub fn safe_from_raw(pointer: *mut DLManagedTensorVersioned) -> Result<ImportedTensor, Error> {
    ImportedTensor::from_raw(pointer)
}

pub fn safe_synchronizer<'a, S: Synchronize>(data: DataRef<'a>, sync: &'a S) -> DataRef<'a> {
    data.synchronized_by(sync)
}

pub fn slice_of_shared_elements(tensor: &ImportedTensor) -> f32 {
    tensor.assume_frozen().as_slice::<f32>().unwrap()[0]
}

fn main() {}
