use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
pub struct Meters(f32);

#[derive(Clone, Copy, Element)]
pub struct Rgb {
    r: u8,
    g: u8,
    b: u8,
}

fn main() {}

pub fn compiles_all_the_same(meters: &[Meters], rgb: &[Rgb]) {
    let _ = DataRef::from_slice(meters);
    let _ = DataRef::from_slice(rgb);
}
