use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(order = column_major)]
pub struct OrderImage {
    data: Vec<u8>,
    shape: [usize; 2],
    strides: [isize; 2],
}

#[derive(DLPackExport)]
pub struct OrderField {
    data: Vec<u8>,
    shape: [usize; 2],
    strides: [isize; 2],
    #[dlpack(order)]
    order: dlpack_traits::Order,
}

#[derive(DLPackExport)]
pub struct Pitch {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(strides(bytes))]
    steps: [isize; 2],
    #[dlpack(pitch(bytes))]
    pitch: usize,
}

#[derive(DLPackExport)]
#[dlpack(strides(row, 1), order = column_major)]
pub struct Listed {
    data: Vec<u8>,
    shape: [usize; 2],
    row: usize,
}

#[derive(DLPackExport)]
#[dlpack(strides = self.steps(), pitch(bytes) = 8)]
pub struct Stated {
    data: Vec<u8>,
    shape: [usize; 2],
}

impl Stated {
    pub fn steps(&self) -> [usize; 2] {
        [8, 1]
    }
}

fn main() {}

pub fn compiles_all_the_same(
    order_image: OrderImage,
    order_field: OrderField,
    pitch: Pitch,
    listed: Listed,
    stated: Stated,
) {
    let _ = order_image.into_dlpack();
    let _ = order_field.into_dlpack();
    let _ = pitch.into_dlpack();
    let _ = listed.into_dlpack();
    let _ = stated.into_dlpack();
}
