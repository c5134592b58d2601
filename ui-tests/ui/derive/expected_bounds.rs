use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(bound = "T: Element")]
pub struct StringImage<T> {
    data: Vec<T>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(bound(T))]
pub struct Type<T> {
    data: Vec<T>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(string_image: StringImage<u8>, type_image: Type<u8>) {
    let _ = string_image.into_dlpack();
    let _ = type_image.into_dlpack();
}
