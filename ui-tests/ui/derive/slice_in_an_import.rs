use dlpack_traits::DLPackImport;

#[derive(DLPackImport)]
pub struct Photo {
    #[dlpack(data, slice = u8)]
    pixels: String,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Photo::from_dlpack(tensor());
}
