use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackImport)]
pub struct Import(ImportedStorage<u8>);

#[derive(DLPackExport)]
pub struct Image<T>(T);

#[derive(DLPackExport)]
#[dlpack(read_only)]
pub struct Path(Tensor);

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    image: Image<Vec<u8>>,
    path: Path,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = Import::from_dlpack(tensor());
    let _ = image.into_dlpack();
    let _ = path.into_dlpack();
}
