use dlpack_traits::{Error, ImportedTensor};

pub fn write(tensor: &ImportedTensor) -> Result<(), Error> {
    tensor.exclusive()?.as_mut_slice::<f32>()?[0] = 1.0;
    Ok(())
}

fn main() {}
