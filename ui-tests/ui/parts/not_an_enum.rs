use dlpack_traits::DataType;

#[derive(DataType)]
pub struct Struct(u8);

#[derive(DataType)]
pub union Union {
    code: u8,
}

fn main() {}

pub fn compiles_all_the_same(struct_kind: Struct, union: Union) {
    let _ = DataType::try_from(&struct_kind).is_ok() && Struct::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&union).is_ok() && Union::try_from(DataType::U8).is_ok();
}
