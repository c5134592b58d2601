use dlpack_traits::{DLPackExport, Element};

#[derive(DLPackExport)]
pub struct Image<T: Element> {
    data: Vec<T>,
    shape: [usize; 2],
}

pub struct Page {
    pub image: Image<String>,
}

fn main() {}
