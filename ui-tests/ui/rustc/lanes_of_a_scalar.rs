use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[dlpack(lanes)]
#[repr(transparent)]
pub struct Meters(f32);

fn main() {}

pub fn compiles_all_the_same(part: &[Meters]) {
    let _ = DataRef::from_slice(part);
}
