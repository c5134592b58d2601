use dlpack_traits::{Error, ImportedTensor};

pub fn read(tensor: ImportedTensor) -> Result<f32, Error> {
    let elements = tensor.elements::<f32>()?;
    drop(tensor);
    elements.load(&[0])
}

fn main() {}
