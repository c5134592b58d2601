use dlpack_traits::{DLPackImport, Foreign};

#[derive(DLPackImport)]
pub struct Image(#[dlpack(data)] Foreign<u8>, #[dlpack(shape)] [usize; 3], String);

fn main() {}

pub fn compiles_all_the_same(tensor: dlpack_traits::Imported) {
    let _ = Image::from_dlpack(tensor);
}
