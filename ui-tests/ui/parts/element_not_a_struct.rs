use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(u8)]
pub enum Label {
    Cat,
    Dog,
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
pub union Bits {
    float: f32,
    int: u32,
}

fn main() {}

pub fn compiles_all_the_same(label: &[Label], bits: &[Bits]) {
    let _ = DataRef::from_slice(label);
    let _ = DataRef::from_slice(bits);
}
