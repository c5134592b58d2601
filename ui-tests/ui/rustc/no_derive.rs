use dlpack_traits::DLPackExport;

pub struct Image {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

fn export(_: impl DLPackExport) {}

pub fn forgot_the_derive(image: Image) {
    export(image);
}
