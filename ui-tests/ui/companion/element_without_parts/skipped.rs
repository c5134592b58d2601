use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Meters(#[dlpack(skip)] f32);

fn main() {}

pub fn compiles_all_the_same(part: &[Meters]) {
    let _ = DataRef::from_slice(part);
}
