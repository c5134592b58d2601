use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Array {
    data: Array2<f32>,
    name: String,
}

pub struct Array2<T>(pub T);

#[derive(DLPackExport)]
pub struct MarkedOtherwise {
    data: Vec<u8>,
    #[dlpack(strides)]
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct Image {
    data: Vec<u8>,
    width: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    array: Array,
    marked_otherwise: MarkedOtherwise,
    image: Image,
) {
    let _ = array.into_dlpack();
    let _ = marked_otherwise.into_dlpack();
    let _ = image.into_dlpack();
}
