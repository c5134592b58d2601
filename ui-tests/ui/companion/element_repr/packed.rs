use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
pub struct Rgb(u8, u8, u8);

fn main() {}

pub fn compiles_all_the_same(part: &[Rgb]) {
    let _ = DataRef::from_slice(part);
}
