use dlpack_traits::DLPackImport;

/// The type of the field is another crate's.
#[derive(DLPackImport)]
#[dlpack(transparent)]
pub struct Samples(std::collections::VecDeque<f32>);

#[derive(DLPackImport)]
pub enum Image {
    Bytes(Vec<u8>),
}

fn main() {}

pub fn compiles_all_the_same(tensor: fn() -> dlpack_traits::ImportedTensor) {
    let _ = Samples::from_dlpack(tensor());
    let _ = Image::from_dlpack(tensor());
}
