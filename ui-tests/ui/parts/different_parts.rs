use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(C)]
pub struct Hit {
    energy: f32,
    time: u32,
}

fn main() {}

pub fn compiles_all_the_same(hit: &[Hit]) {
    let _ = DataRef::from_slice(hit);
}
