use dlpack_traits::ImportedTensor;

pub fn first(tensor: &ImportedTensor) -> f32 {
    tensor.assume_frozen().as_slice::<f32>().unwrap()[0]
}

fn main() {}
