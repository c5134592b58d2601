use dlpack_traits::DataType;

#[derive(DataType)]
pub enum Kind {
    F8,
    Byte,
    #[dlpack(skipped)]
    Text,
    Pair(u8, u8),
}

fn main() {}

pub fn compiles_all_the_same(kind: Kind) {
    let _ = DataType::try_from(kind).is_ok();
}
