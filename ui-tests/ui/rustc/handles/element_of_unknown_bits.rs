use dlpack_traits::{Element, Error, ImportedTensor};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Rgb([u8; 3]);

pub fn read(image: &ImportedTensor) -> Result<(), Error> {
    let _ = image.elements::<Rgb>()?;
    Ok(())
}

fn main() {}
