use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
pub struct Array {
    data: Vec<u8>,
    shape: [usize; 2],
    uuid: [u8; 16],
}

#[derive(DLPackExport)]
pub struct Atomic {
    data: Vec<u8>,
    shape: [usize; 2],
    readers: std::sync::atomic::AtomicUsize,
}

#[derive(DLPackExport)]
pub struct Bool {
    data: Vec<u8>,
    shape: [usize; 2],
    is_open: bool,
}

#[derive(DLPackExport)]
pub struct ByPath {
    data: Vec<u8>,
    shape: [usize; 2],
    serial: core::primitive::u32,
}

#[derive(DLPackImport)]
pub struct Imported {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(DLPackImport)]
pub struct ImportedWithDefault {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    id: u64,
}

#[derive(DLPackExport, DLPackImport)]
pub struct InBoth {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(DLPackExport)]
pub struct Integer {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u64,
}

#[derive(AsLayout)]
pub struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    version: u32,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ListedShape {
    data: Vec<u8>,
    height: u32,
    width: u32,
    depth: u32,
}

#[derive(DLPackExport)]
pub struct NamedLikeARoleThatIsTaken {
    data: Vec<u8>,
    #[dlpack(shape)]
    dims: [usize; 2],
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct OptionOfInteger {
    data: Vec<u8>,
    shape: [usize; 2],
    label: Option<u32>,
}

#[derive(DLPackExport)]
pub struct Pairs {
    data: Vec<u8>,
    shape: [usize; 2],
    names: Vec<(String, u32)>,
}

#[derive(DLPackExport)]
pub struct TupleStruct(#[dlpack(data)] Vec<u8>, #[dlpack(shape)] [usize; 2], u64);

#[derive(DLPackExport)]
pub struct U128 {
    data: Vec<u8>,
    shape: [usize; 2],
    id: u128,
}

#[derive(DLPackExport)]
pub struct AllocatedWidth {
    data: Vec<u8>,
    shape: [usize; 2],
    allocated_width: std::num::NonZeroU32,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ByteStart {
    data: Vec<u8>,
    height: usize,
    width: usize,
    byte_start: u64,
}

#[derive(DLPackExport)]
pub struct First {
    data: Vec<u8>,
    shape: [usize; 2],
    first: usize,
}

#[derive(DLPackExport)]
pub struct Ld {
    data: Vec<u8>,
    shape: [usize; 2],
    ld: i64,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct MemoryFormat {
    data: Vec<u8>,
    height: usize,
    width: usize,
    memory_format: u8,
}

#[derive(DLPackExport)]
pub struct RowCapacity {
    data: Vec<u8>,
    shape: [usize; 2],
    row_capacity: usize,
}

#[derive(DLPackExport)]
pub struct Rowbytes {
    data: Vec<u8>,
    shape: [usize; 2],
    rowbytes: u32,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct Start {
    data: Vec<u8>,
    height: usize,
    width: usize,
    start: usize,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct ChannelsLast {
    data: Vec<u8>,
    height: usize,
    width: usize,
    channels_last: bool,
}

#[derive(DLPackImport)]
pub struct ImportedChannelsLast {
    data: ImportedStorage<u8>,
    shape: [usize; 3],
    channels_last: bool,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width), order = column_major)]
pub struct InterleavedWithOrder {
    data: Vec<u8>,
    height: usize,
    width: usize,
    interleaved: bool,
}

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct IsPlanar {
    data: Vec<u8>,
    height: usize,
    width: usize,
    is_planar: bool,
}

#[derive(DLPackExport)]
pub struct Transpose {
    data: Vec<u8>,
    shape: [usize; 2],
    transpose: bool,
}

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
#[dlpack(construct = ImportedBottomUp::new)]
pub struct ImportedBottomUp {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    bottom_up: bool,
}

impl ImportedBottomUp {
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

#[derive(DLPackExport)]
#[dlpack(shape(height, width))]
pub struct IsTransposed {
    data: Vec<u8>,
    height: usize,
    width: usize,
    is_transposed: bool,
}

#[derive(DLPackExport)]
pub struct RowMajor {
    data: Vec<u8>,
    shape: [usize; 2],
    row_major: bool,
}

#[derive(DLPackExport)]
pub struct Step {
    data: Vec<u8>,
    shape: [usize; 2],
    step: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    array: Array,
    atomic: Atomic,
    bool: Bool,
    by_path: ByPath,
    integer: Integer,
    strided: &Strided,
    listed_shape: ListedShape,
    named_like_a_role_that_is_taken: NamedLikeARoleThatIsTaken,
    option_of_integer: OptionOfInteger,
    pairs: Pairs,
    tuple_struct: TupleStruct,
    u128: U128,
    tensor: fn() -> dlpack_traits::ImportedTensor,
    allocated_width: AllocatedWidth,
    byte_start: ByteStart,
    first: First,
    ld: Ld,
    memory_format: MemoryFormat,
    row_capacity: RowCapacity,
    rowbytes: Rowbytes,
    start: Start,
    channels_last: ChannelsLast,
    interleaved_with_order: InterleavedWithOrder,
    is_planar: IsPlanar,
    transpose: Transpose,
    bottom_up: BottomUp,
    flip: Flip,
    top_down: TopDown,
    is_transposed: IsTransposed,
    row_major: RowMajor,
    step: Step,
) {
    let _ = array.into_dlpack();
    let _ = atomic.into_dlpack();
    let _ = bool.into_dlpack();
    let _ = by_path.into_dlpack();
    let _ = Imported::from_dlpack(tensor());
    let _ = ImportedWithDefault::from_dlpack(tensor());
    let _ = InBoth::from_dlpack(tensor());
    let _ = integer.into_dlpack();
    let _ = strided.layout();
    let _ = listed_shape.into_dlpack();
    let _ = named_like_a_role_that_is_taken.into_dlpack();
    let _ = option_of_integer.into_dlpack();
    let _ = pairs.into_dlpack();
    let _ = tuple_struct.into_dlpack();
    let _ = u128.into_dlpack();
    let _ = allocated_width.into_dlpack();
    let _ = byte_start.into_dlpack();
    let _ = first.into_dlpack();
    let _ = ld.into_dlpack();
    let _ = memory_format.into_dlpack();
    let _ = row_capacity.into_dlpack();
    let _ = rowbytes.into_dlpack();
    let _ = start.into_dlpack();
    let _ = channels_last.into_dlpack();
    let _ = ImportedChannelsLast::from_dlpack(tensor());
    let _ = interleaved_with_order.into_dlpack();
    let _ = is_planar.into_dlpack();
    let _ = transpose.into_dlpack();
    let _ = bottom_up.into_dlpack();
    let _ = flip.into_dlpack();
    let _ = ImportedBottomUp::from_dlpack(tensor());
    let _ = top_down.into_dlpack();
    let _ = is_transposed.into_dlpack();
    let _ = row_major.into_dlpack();
    let _ = step.into_dlpack();
}
