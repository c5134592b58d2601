use dlpack_traits::DLPackExport;

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

fn main() {}

pub fn compiles_all_the_same(image: Image, packed_c2: PackedC2) {
    let _ = image.into_dlpack();
    let _ = packed_c2.into_dlpack();
}
