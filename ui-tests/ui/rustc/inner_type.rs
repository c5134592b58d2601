use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
#[dlpack(transparent)]
pub struct Newtype(Vec<u8>);

#[derive(DLPackExport)]
pub enum Variant {
    Text(String),
    Tensor(Tensor),
}

#[derive(DLPackExport)]
pub struct Tensor {
    data: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(newtype: Newtype, variant: Variant) {
    let _ = newtype.into_dlpack();
    let _ = variant.into_dlpack();
}
