use dlpack_traits::{DLPackExport, Element};

#[derive(DLPackExport)]
pub struct Generic<T> {
    data: Vec<T>,
    shape: [usize; 2],
}

pub fn export(image: Generic<String>) {
    let _ = image.into_dlpack();
}

#[derive(DLPackExport)]
pub struct GenericWithABound<T: Element> {
    data: Vec<T>,
    shape: [usize; 2],
}

pub struct Page {
    pub image: GenericWithABound<String>,
}

#[derive(Clone, Copy)]
pub struct Level(u16);

#[derive(DLPackExport)]
pub struct Newtype {
    data: Box<[Level]>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct StringImage {
    data: Vec<String>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(newtype: Newtype, string_image: StringImage) {
    let _ = newtype.into_dlpack();
    let _ = string_image.into_dlpack();
}
