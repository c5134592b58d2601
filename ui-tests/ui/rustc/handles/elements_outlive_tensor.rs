use dlpack_traits::{Error, Imported};

pub fn read(tensor: Imported) -> Result<f32, Error> {
    let elements = tensor.elements::<f32>()?;
    drop(tensor);
    elements.load(&[0])
}

fn main() {}
