use dlpack_traits::DLPackImport;

#[derive(DLPackImport)]
pub struct Image {
    #[dlpack(unsafe(ptr, len(elements) = size))]
    data: *const u8,
    size: usize,
    #[dlpack(owner)]
    owner: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Image::from_dlpack(tensor());
}
