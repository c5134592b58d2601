use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(C, align(16))]
pub struct Point(f32, f32);

fn main() {}

pub fn compiles_all_the_same(part: &[Point]) {
    let _ = DataRef::from_slice(part);
}
