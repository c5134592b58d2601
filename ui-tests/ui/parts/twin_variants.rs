use dlpack_traits::DataType;

#[derive(DataType)]
pub enum SpelledOut {
    U8,
    #[dlpack(dtype = U8)]
    Byte,
}

#[derive(DataType)]
pub enum Spellings {
    F64,
    Double,
}

fn main() {}

pub fn compiles_all_the_same(spelled_out: SpelledOut, spellings: Spellings) {
    let _ = DataType::try_from(&spelled_out).is_ok() && SpelledOut::try_from(DataType::U8).is_ok();
    let _ = DataType::try_from(&spellings).is_ok() && Spellings::try_from(DataType::U8).is_ok();
}
