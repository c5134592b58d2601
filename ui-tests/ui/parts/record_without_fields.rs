use dlpack_traits::Record;

#[derive(Clone, Copy, Record)]
#[repr(C)]
pub struct Hidden {
    #[dlpack(skip)]
    padding: u32,
}

fn main() {}
