use dlpack_traits::{DataRef, Element};

/// Its values prove something.
#[derive(Clone, Copy)]
pub struct Token(());

#[derive(Clone, Copy, Element)]
#[repr(C)]
pub struct Number(i64, #[dlpack(skip)] Token);

fn main() {}

pub fn compiles_all_the_same(part: &[Number]) {
    let _ = DataRef::from_slice(part);
}
