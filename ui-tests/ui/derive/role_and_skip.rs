use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(skip(pitch))]
pub struct InTheList {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(pitch(bytes))]
    pitch: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width), skip(width))]
pub struct ListedDimension {
    data: Vec<u8>,
    height: u32,
    width: u32,
}

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    #[dlpack(shape, skip)]
    meta: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(
    in_the_list: InTheList,
    listed_dimension: ListedDimension,
    image: Image,
) {
    let _ = in_the_list.into_dlpack();
    let _ = listed_dimension.into_dlpack();
    let _ = image.into_dlpack();
}
