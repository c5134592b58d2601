use dlpack_traits::Imported;

pub fn first(tensor: &Imported) -> f32 {
    tensor.assume_frozen().as_slice::<f32>().unwrap()[0]
}

fn main() {}
