use dlpack_traits::Record;

#[derive(Clone, Copy, Record)]
#[repr(C, packed)]
pub struct Packed {
    kind: u8,
    mass: f32,
}

fn main() {}
