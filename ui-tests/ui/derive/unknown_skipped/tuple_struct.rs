use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(skip(2))]
pub struct Image(#[dlpack(data)] Vec<u8>, #[dlpack(shape)] [usize; 2]);

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
