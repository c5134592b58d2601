use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct OffsetInTwoUnits {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(byte_offset)]
    start: usize,
    #[dlpack(offset(elements))]
    first: usize,
}

#[derive(DLPackExport)]
pub struct SameField {
    #[dlpack(data)]
    #[dlpack(data)]
    pixels: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct TwoFields {
    #[dlpack(data)]
    pixels: Vec<u8>,
    #[dlpack(data)]
    mask: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct TwoUnits {
    data: Vec<u8>,
    shape: [usize; 2],
    #[dlpack(offset(bytes), offset(elements))]
    start: usize,
}

fn main() {}

pub fn compiles_all_the_same(
    offset_in_two_units: OffsetInTwoUnits,
    same_field: SameField,
    two_fields: TwoFields,
    two_units: TwoUnits,
) {
    let _ = offset_in_two_units.into_dlpack();
    let _ = same_field.into_dlpack();
    let _ = two_fields.into_dlpack();
    let _ = two_units.into_dlpack();
}
