use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
pub struct Rgb {
    r: u8,
    g: u8,
    b: u8,
}

fn main() {}

pub fn compiles_all_the_same(part: &[Rgb]) {
    let _ = DataRef::from_slice(part);
}
