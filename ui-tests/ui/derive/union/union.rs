use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub union Image {
    bytes: [u8; 4],
    float: [f32; 1],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
