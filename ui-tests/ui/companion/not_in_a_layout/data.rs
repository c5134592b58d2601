use dlpack_traits::{AsLayout};

#[derive(AsLayout)]
pub struct Layout {
    shape: [usize; 2],
    #[dlpack(data)]
    bytes: Vec<u8>,
}

fn main() {}

pub fn compiles_all_the_same(layout: &Layout) {
    let _ = layout.as_layout();
}
