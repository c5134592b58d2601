use dlpack_traits::{AsLayout, FromLayout};

#[derive(AsLayout)]
#[dlpack(read_only)]
pub struct Layout {
    shape: [usize; 2],
}

#[derive(AsLayout)]
#[dlpack(dtype = U8)]
pub struct Typed {
    shape: [usize; 2],
}

#[derive(FromLayout)]
#[dlpack(require(rank = 2))]
pub struct Dense {
    shape: Vec<usize>,
}

fn main() {}

pub fn compiles_all_the_same(layout: &Layout, typed: &Typed) {
    let _ = layout.layout();
    let _ = typed.layout();
}
