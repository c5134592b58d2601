use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, ImportedStorage};

type Px = u32;

#[derive(DLPackImport)]
pub struct Imported {
    data: ImportedStorage<u8>,
    shape: [usize; 2],
    #[dlpack(default)]
    row: Px,
}

#[derive(DLPackExport)]
pub struct Integer {
    data: Vec<u8>,
    shape: [usize; 2],
    row: Px,
}

type Duration = u64;

#[derive(DLPackExport)]
pub struct KnownName {
    data: Vec<u8>,
    shape: [usize; 2],
    row: Duration,
}

#[derive(AsLayout)]
pub struct LayoutImage {
    shape: Vec<usize>,
    row: Px,
}

type Dims = [usize; 2];

#[derive(DLPackExport)]
pub struct List {
    data: Vec<u8>,
    shape: [usize; 2],
    row: Option<Dims>,
}

type Window = (usize, usize, usize, usize, usize, usize);

#[derive(DLPackExport)]
pub struct LongTuple {
    data: Vec<u8>,
    shape: [usize; 2],
    window: Window,
}

macro_rules! px {
    () => { u32 };
}

#[derive(DLPackExport)]
pub struct Macro {
    data: Vec<u8>,
    shape: [usize; 2],
    row: px!(),
}

pub struct Name<'a>(pub &'a str);

#[derive(DLPackExport)]
pub struct WithLifetime<'a> {
    data: &'a [u8],
    shape: [usize; 2],
    name: &'a Name<'a>,
    row: &'a Px,
}

fn main() {}

pub fn compiles_all_the_same(
    integer: Integer,
    known_name: KnownName,
    list: List,
    long_tuple: LongTuple,
    macro_image: Macro,
) {
    let _ = integer.into_dlpack();
    let _ = known_name.into_dlpack();
    let _ = list.into_dlpack();
    let _ = long_tuple.into_dlpack();
    let _ = macro_image.into_dlpack();
}
