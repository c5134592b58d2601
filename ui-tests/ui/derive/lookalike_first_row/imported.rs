use dlpack_traits::{DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
#[dlpack(construct = Image::new)]
pub struct Image {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    bottom_up: bool,
}

impl Image {
    fn new(data: ImportedStorage<u8>, shape: [usize; 2]) -> Result<Self, dlpack_traits::Error> {
        Ok(Self { data, shape, bottom_up: false })
    }
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
