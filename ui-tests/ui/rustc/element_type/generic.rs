use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image<T> {
    data: Vec<T>,
    shape: [usize; 2],
}

pub fn export(image: Image<String>) {
    let _ = image.into_dlpack();
}

fn main() {}
