use dlpack_traits::DataType;

#[derive(DataType)]
pub enum Kind {
    F32,
    Quantised(u8),
}

fn main() {}

pub fn compiles_all_the_same(kind: Kind) {
    let _ = DataType::try_from(&kind).is_ok() && Kind::try_from(DataType::U8).is_ok();
}
