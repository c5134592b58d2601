use dlpack_traits::{FromLayout};

#[derive(FromLayout)]
#[dlpack(require(rank = 2))]
pub struct Dense {
    shape: Vec<usize>,
}

fn main() {}
