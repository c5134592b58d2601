use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Image {
    data: std::rc::Rc<[u8]>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(image: &Image) {
    let _ = image.tensor();
}
