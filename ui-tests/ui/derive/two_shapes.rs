use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3))]
pub struct ByAttribute {
    data: Vec<u8>,
    #[dlpack(shape)]
    dims: [usize; 3],
}

#[derive(DLPackExport)]
#[dlpack(shape(2, 2, 3))]
pub struct ByName {
    data: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(by_attribute: ByAttribute, by_name: ByName) {
    let _ = by_attribute.into_dlpack();
    let _ = by_name.into_dlpack();
}
