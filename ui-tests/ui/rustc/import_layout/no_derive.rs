use dlpack_traits::{AsLayout, DLPackImport, ImportedStorage};

#[derive(AsLayout)]
pub struct Dense {
    shape: Vec<usize>,
}

#[derive(DLPackImport)]
pub struct Image {
    data: ImportedStorage<u8>,
    #[dlpack(layout)]
    layout: Dense,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
