use dlpack_traits::{Error, Imported};

pub fn write(tensor: &Imported) -> Result<(), Error> {
    tensor.exclusive()?.as_mut_slice::<f32>()?[0] = 1.0;
    Ok(())
}

fn main() {}
