use dlpack_traits::{AsLayout, DLPackExport, DLPackImport, DataRef, DataType, Element, Storage};

#[derive(DLPackImport)]
pub union Import {
    data: u8,
}

#[derive(DLPackExport)]
pub union Image {
    bytes: [u8; 4],
    float: [f32; 1],
}

#[derive(Clone, Copy, Element)]
#[repr(u8)]
pub enum ElementEnum {
    Cat,
    Dog,
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
pub union ElementUnion {
    float: f32,
    int: u32,
}

#[derive(DataType)]
pub struct DataTypeStruct(u8);

#[derive(DataType)]
pub union DataTypeUnion {
    code: u8,
}

#[derive(AsLayout)]
pub enum LayoutEnum {
    Flat(usize),
}

#[derive(AsLayout)]
pub union LayoutUnion {
    shape: [usize; 2],
}

#[derive(Storage)]
pub union StorageUnion {
    bytes: [u8; 8],
}

fn main() {}

pub fn compiles_all_the_same(
    image: Image,
    tensor: fn() -> dlpack_traits::ImportedTensor,
    element_enum: &[ElementEnum],
    element_union: &[ElementUnion],
    struct_kind: DataTypeStruct,
    data_type_union: DataTypeUnion,
    enum_layout: &LayoutEnum,
    layout_union: &LayoutUnion,
    storage_union: &StorageUnion,
) {
    let _ = Import::from_dlpack(tensor());
    let _ = image.into_dlpack();
    let _ = DataRef::from_slice(element_enum);
    let _ = DataRef::from_slice(element_union);
    let _ = DataType::try_from(&struct_kind).is_ok() && DataTypeStruct::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&data_type_union).is_ok() && DataTypeUnion::try_from(DataType::U8).is_ok();
    let _ = enum_layout.layout();
    let _ = layout_union.layout();
    let _ = storage_union.data();
}
