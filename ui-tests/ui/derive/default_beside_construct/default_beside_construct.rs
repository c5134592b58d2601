use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
#[dlpack(construct = Image::new)]
pub struct Image {
    data: Foreign<u8>,
    shape: [usize; 3],
    #[dlpack(default)]
    name: String,
}

impl Image {
    pub fn new(data: Foreign<u8>, shape: [usize; 3]) -> Result<Self, &'static str> {
        Ok(Self { data, shape, name: String::new() })
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
