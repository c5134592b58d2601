use dlpack_traits::{DataType};

#[derive(DataType)]
pub enum Kind {
    #[dlpack(dtype = "float8_e4m3fn")]
    F8,
}

fn main() {}

pub fn compiles_all_the_same(kind: Kind) -> bool {
    DataType::try_from(&kind).is_ok() && Kind::try_from(DataType::U8).is_ok()
}
