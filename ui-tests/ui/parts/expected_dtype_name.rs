use dlpack_traits::DataType;

#[derive(DataType)]
pub enum Bare {
    #[dlpack(dtype)]
    F8,
}

#[derive(DataType)]
pub enum List {
    #[dlpack(dtype(F32))]
    Single,
}

#[derive(DataType)]
pub enum StringKind {
    #[dlpack(dtype = "float8_e4m3fn")]
    F8,
}

fn main() {}

pub fn compiles_all_the_same(bare: Bare, list: List, string_kind: StringKind) {
    let _ = DataType::try_from(&bare).is_ok() && Bare::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&list).is_ok() && List::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&string_kind).is_ok() && StringKind::try_from(DataType::U8).is_ok();
}
