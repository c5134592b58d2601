use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{Error, ImportedTensor};

pub fn take(pointer: *mut DLManagedTensorVersioned) -> Result<ImportedTensor, Error> {
    ImportedTensor::from_raw(pointer)
}

fn main() {}
