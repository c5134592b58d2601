use dlpack_traits::{Element, Error, SharedBuffer};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
pub struct Celsius(f32);

pub fn share(temperatures: &[Celsius]) -> Result<SharedBuffer<Celsius>, Error> {
    SharedBuffer::from_slice(temperatures)
}

fn main() {}
