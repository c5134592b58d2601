use dlpack_traits::{ManagedTensor, ffi::DLManagedTensorVersioned};

pub fn steal(tensor: ManagedTensor) -> *mut DLManagedTensorVersioned {
    tensor.managed.as_ptr()
}

fn main() {}
