use dlpack_traits::DLPackImport;

#[derive(DLPackImport)]
pub struct Image<'a> {
    data: &'a [u8],
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
