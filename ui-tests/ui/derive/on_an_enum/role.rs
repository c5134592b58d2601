use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub enum Image {
    Bytes(#[dlpack(data)] Vec<u8>),
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
