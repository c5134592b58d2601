use dlpack_traits::{DLPackImport};

#[derive(DLPackImport)]
pub enum Image {
    #[dlpack(skip)]
    Text,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
