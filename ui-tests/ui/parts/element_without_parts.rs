use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Meters(#[dlpack(skip)] f32);

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Nothing;

fn main() {}

pub fn compiles_all_the_same(meters: &[Meters], nothing: &[Nothing]) {
    let _ = DataRef::from_slice(meters);
    let _ = DataRef::from_slice(nothing);
}
