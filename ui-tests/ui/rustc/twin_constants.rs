use dlpack_traits::{DataType};

#[derive(DataType)]
pub enum Kind {
    F32,
    #[dlpack(dtype = DataType::F32)]
    Single,
}

fn main() {}

pub fn compiles_all_the_same(kind: Kind) -> bool {
    DataType::try_from(kind).is_ok()
}
