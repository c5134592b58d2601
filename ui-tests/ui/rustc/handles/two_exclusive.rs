use dlpack_traits::{Error, ImportedTensor};

pub fn twice(tensor: &mut ImportedTensor) -> Result<(), Error> {
    let mut one = tensor.exclusive()?;
    let mut two = tensor.exclusive()?;
    one.as_mut_slice::<f32>()?[0] = 1.0;
    two.as_mut_slice::<f32>()?[0] = 2.0;
    Ok(())
}

fn main() {}
