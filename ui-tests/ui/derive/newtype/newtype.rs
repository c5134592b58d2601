use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image<T>(T);

fn main() {}

pub fn compiles_all_the_same(image: Image<Vec<u8>>) {
    let _ = image.into_dlpack();
}
