use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Bare {
    #[dlpack]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct Equals {
    #[dlpack = "data"]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

fn main() {}

pub fn compiles_all_the_same(bare: Bare, equals: Equals) {
    let _ = bare.into_dlpack();
    let _ = equals.into_dlpack();
}
