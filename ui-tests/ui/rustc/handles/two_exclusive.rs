use dlpack_traits::{Error, Imported};

pub fn twice(tensor: &mut Imported) -> Result<(), Error> {
    let mut one = tensor.exclusive()?;
    let mut two = tensor.exclusive()?;
    one.as_mut_slice::<f32>()?[0] = 1.0;
    two.as_mut_slice::<f32>()?[0] = 2.0;
    Ok(())
}

fn main() {}
