use dlpack_traits::{DataRef, Element};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Id(char);

fn main() {}

pub fn compiles_all_the_same(part: &[Id]) {
    let _ = DataRef::from_slice(part);
}
