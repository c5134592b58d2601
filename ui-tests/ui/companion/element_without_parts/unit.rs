use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Nothing;

fn main() {}

pub fn compiles_all_the_same(part: &[Nothing]) {
    let _ = DataRef::from_slice(part);
}
