use dlpack_traits::{AsLayout};

#[derive(AsLayout)]
pub enum Layout {
    Flat(usize),
}

fn main() {}

pub fn compiles_all_the_same(layout: &Layout) {
    let _ = layout.as_layout();
}
