use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(n))]
pub struct Image(#[dlpack(data)] Vec<u8>, usize);

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
