use dlpack_traits::{DLPackExport, DLPackImport};

#[derive(DLPackImport)]
pub enum Import {
    #[dlpack(skip)]
    Text,
}

#[derive(DLPackExport)]
pub enum Image {}

fn main() {}

pub fn compiles_all_the_same(image: Image, tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Import::from_dlpack(tensor());
    let _ = image.into_dlpack();
}
