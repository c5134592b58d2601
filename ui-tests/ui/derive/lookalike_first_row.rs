use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct BottomUp {
    data: Vec<u8>,
    height: usize,
    width: usize,
    bottom_up: bool,
}

#[derive(DLPackExport)]
pub struct Flip {
    data: Vec<u8>,
    shape: [usize; 2],
    flip: bool,
}

#[derive(DLPackImport)]
#[dlpack(construct = Imported::new)]
pub struct Imported {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    bottom_up: bool,
}

impl Imported {
    fn new(data: ImportedStorage<u8>, shape: [usize; 2]) -> Result<Self, dlpack_traits::Error> {
        Ok(Self { data, shape, bottom_up: false })
    }
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct TopDown {
    data: Vec<u8>,
    height: usize,
    width: usize,
    top_down: bool,
}

fn main() {}

pub fn compiles_all_the_same(
    bottom_up: BottomUp,
    flip: Flip,
    top_down: TopDown,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = bottom_up.into_dlpack();
    let _ = flip.into_dlpack();
    let _ = Imported::from_dlpack(tensor());
    let _ = top_down.into_dlpack();
}
