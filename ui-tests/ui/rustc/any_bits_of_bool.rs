use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[dlpack(any_bits)]
#[repr(transparent)]
pub struct Flag(bool);

fn main() {}

pub fn compiles_all_the_same(part: &[Flag]) {
    let _ = DataRef::from_slice(part);
}
