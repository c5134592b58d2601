use dlpack_traits::{Error, Imported};

pub fn read(tensor: Imported) -> Result<f32, Error> {
    // SAFETY: nobody writes.
    let elements = unsafe { tensor.assume_frozen() }.as_slice::<f32>()?;
    drop(tensor);
    Ok(elements[0])
}

fn main() {}
