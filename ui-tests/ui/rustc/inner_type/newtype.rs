use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Image(Vec<u8>);

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
