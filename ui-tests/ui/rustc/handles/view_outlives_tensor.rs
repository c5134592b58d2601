use dlpack_traits::{Error, ImportedTensor};

pub fn read(tensor: ImportedTensor) -> Result<f32, Error> {
    // SAFETY: nobody writes.
    let elements = unsafe { tensor.assume_frozen() }.as_slice::<f32>()?;
    drop(tensor);
    Ok(elements[0])
}

fn main() {}
