use dlpack_traits::{Element, Error, Imported};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Rgb([u8; 3]);

pub fn read(image: &Imported) -> Result<(), Error> {
    let _ = image.elements::<Rgb>()?;
    Ok(())
}

fn main() {}
