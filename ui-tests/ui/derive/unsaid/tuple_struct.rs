use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image(#[dlpack(data)] Vec<u8>, #[dlpack(shape)] [usize; 2], u64);

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
