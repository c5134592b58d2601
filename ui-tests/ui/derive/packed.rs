use dlpack_traits::{AsLayout, DLPackExport, Storage};

#[derive(DLPackExport)]
#[repr(packed)]
pub struct Image {
    data: Box<[u8]>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
#[repr(C, packed(2))]
pub struct PackedC2 {
    data: Box<[u8]>,
    shape: [usize; 3],
}

#[derive(AsLayout)]
#[repr(packed)]
pub struct PackedLayout {
    shape: [usize; 2],
}

#[derive(Storage)]
#[repr(packed)]
pub struct PackedStorage(Vec<f32>);

fn main() {}

pub fn compiles_all_the_same(
    image: Image,
    packed_c2: PackedC2,
    packed_layout: &PackedLayout,
    packed_storage: &PackedStorage,
) {
    let _ = image.into_dlpack();
    let _ = packed_c2.into_dlpack();
    let _ = packed_layout.layout();
    let _ = packed_storage.data();
}
