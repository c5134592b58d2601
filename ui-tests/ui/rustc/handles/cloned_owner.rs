use dlpack_traits::ManagedTensor;

pub fn another<T: Clone>(tensor: &T) -> T {
    tensor.clone()
}

pub fn twice(tensor: &ManagedTensor) -> ManagedTensor {
    another(tensor)
}

fn main() {}
