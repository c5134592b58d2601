use dlpack_traits::{DLPackImport};

#[derive(DLPackImport)]
pub struct Image {
    #[dlpack(copy)]
    data: Vec<u8>,
    shape: [usize; 3],
    dtype: &'static str,
}

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor);
}
