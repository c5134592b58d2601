use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Tagged(f32, ());

fn main() {}

pub fn compiles_all_the_same(tagged: &[Tagged]) {
    let _ = DataRef::from_slice(tagged);
}
