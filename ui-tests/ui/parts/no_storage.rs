use dlpack_traits::Storage;

#[derive(Storage)]
pub struct Skipped {
    #[dlpack(skip)]
    data: Vec<f32>,
}

#[derive(Storage)]
pub struct UnitStruct;

#[derive(Storage)]
pub enum UnitVariant {
    F32(Vec<f32>),
    Empty,
}

fn main() {}

pub fn compiles_all_the_same(
    skipped: &Skipped,
    unit_struct: &UnitStruct,
    unit_variant: &UnitVariant,
) {
    let _ = skipped.data();
    let _ = unit_struct.data();
    let _ = unit_variant.data();
}
