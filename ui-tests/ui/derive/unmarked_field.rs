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
}
