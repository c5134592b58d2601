use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
#[dlpack(read_only = true)]
#[repr(packed)]
pub struct FiveMistakes {
    data: Vec<u8>,
    #[dlpack(data)]
    pixels: Vec<u8>,
    #[dlpack(data)]
    mask: Vec<u8>,
    #[dlpack(strides, byte_offset)]
    layout: [usize; 3],
    #[dlpack(dtyp)]
    element: dlpack_traits::DataType,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
pub struct LookalikesImported {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    channels_last: bool,
    #[dlpack(default)]
    row_padding: u32,
    linesize: usize,
}

#[derive(DLPackExport)]
pub struct NothingAtAll {}

#[derive(DLPackExport)]
pub struct ThreeUnsaid {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
    row_capacity: u32,
    is_open: bool,
    name: String,
}

#[derive(DLPackExport)]
pub struct UnmarkedTuple(Vec<u8>, [usize; 3]);

fn main() {}

pub fn compiles_all_the_same(
    five_mistakes: FiveMistakes,
    nothing_at_all: NothingAtAll,
    three_unsaid: ThreeUnsaid,
    unmarked_tuple: UnmarkedTuple,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = five_mistakes.into_dlpack();
    let _ = LookalikesImported::from_dlpack(tensor());
    let _ = nothing_at_all.into_dlpack();
    let _ = three_unsaid.into_dlpack();
    let _ = unmarked_tuple.into_dlpack();
}
