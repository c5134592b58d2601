use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    data: Array2<f32>,
    name: String,
}

pub struct Array2<T>(pub T);

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
