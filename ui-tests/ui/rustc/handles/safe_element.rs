use dlpack_traits::{DataType, Element};

#[derive(Clone, Copy)]
pub struct Nothing;

impl Element for Nothing {
    const DTYPE: DataType = DataType::F32;
    const ANY_BITS: bool = true;
}

fn main() {}
