use dlpack_traits::{DataRef, DataType, Element, Storage};

#[derive(Storage)]
pub struct Buffer {
    #[dlpack(data)]
    data: Vec<f32>,
}

#[derive(DataType)]
pub enum Kind {
    #[dlpack(skipped)]
    Text,
}

#[derive(Clone, Copy, Element)]
#[dlpack(lane)]
#[repr(transparent)]
pub struct Float4([f32; 4]);

fn main() {}

pub fn compiles_all_the_same(buffer: &Buffer, kind: Kind, float4: &[Float4]) {
    let _ = buffer.data();
    let _ = DataType::try_from(&kind).is_ok() && Kind::try_from(DataType::U8).is_ok();
    let _ = DataRef::from_slice(float4);
}
