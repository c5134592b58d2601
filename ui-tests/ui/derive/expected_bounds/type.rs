use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(bound(T))]
pub struct Image<T> {
    data: Vec<T>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: Image<u8>) {
    let _ = image.into_dlpack();
}
