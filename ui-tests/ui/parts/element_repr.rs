use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(C, align(16))]
pub struct Point(f32, f32);

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
pub struct Rgb(u8, u8, u8);

fn main() {}

pub fn compiles_all_the_same(point: &[Point], rgb: &[Rgb]) {
    let _ = DataRef::from_slice(point);
    let _ = DataRef::from_slice(rgb);
}
