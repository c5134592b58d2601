use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{Error, Imported};

pub fn take(pointer: *mut DLManagedTensorVersioned) -> Result<Imported, Error> {
    Imported::from_raw(pointer)
}

fn main() {}
