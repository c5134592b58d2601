use dlpack_traits::{DLPackExport, DLPackImport, ImportedStorage};

#[derive(DLPackExport)]
#[dlpack(strides = steps)]
pub struct Assigned {
    data: Vec<u8>,
    shape: [usize; 2],
    steps: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(strides)]
pub struct Image {
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackImport)]
#[dlpack(default)]
pub struct DefaultImage {
    data: ImportedStorage<u8>,
    shape: Vec<usize>,
}

#[derive(DLPackExport)]
#[dlpack(offset(bytes))]
pub struct Offset {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(strides(bytes))]
pub struct Strides {
    data: Vec<u8>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
#[dlpack(pitch(bytes)=row)]
pub struct WithAField {
    data: Vec<u8>,
    shape: [usize; 2],
    row: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    assigned: Assigned,
    image: Image,
    offset: Offset,
    strides: Strides,
    with_a_field: WithAField,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = assigned.into_dlpack();
    let _ = image.into_dlpack();
    let _ = DefaultImage::from_dlpack(tensor());
    let _ = offset.into_dlpack();
    let _ = strides.into_dlpack();
    let _ = with_a_field.into_dlpack();
}
