use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(u8)]
pub enum Label {
    Cat,
    Dog,
}

fn main() {}

pub fn compiles_all_the_same(part: &[Label]) {
    let _ = DataRef::from_slice(part);
}
