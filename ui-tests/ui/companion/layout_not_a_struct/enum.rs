use dlpack_traits::{AsLayout, Slot};

#[derive(AsLayout)]
pub enum Layout {
    Flat(usize),
}

fn main() {}

pub fn compiles_all_the_same(layout: &Layout) {
    let _ = layout.describe_layout(Slot::new().describe());
}
