use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[dlpack(lane)]
#[repr(transparent)]
pub struct Float4([f32; 4]);

fn main() {}

pub fn compiles_all_the_same(part: &[Float4]) {
    let _ = DataRef::from_slice(part);
}
