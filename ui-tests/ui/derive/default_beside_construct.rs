use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(construct = Image::new)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    #[dlpack(default)]
    name: String,
}

impl Image {
    pub fn new(data: ImportedStorage<u8>, shape: [usize; 3]) -> Result<Self, &'static str> {
        Ok(Self { data, shape, name: String::new() })
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
