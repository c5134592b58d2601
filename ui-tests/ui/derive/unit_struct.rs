use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image;

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
