use dlpack_traits::Record;

#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Pair(f32, u32);

fn main() {}
