use dlpack_traits::AsLayout;

#[derive(AsLayout)]
#[repr(packed)]
pub struct Layout {
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(layout: &Layout) {
    let _ = layout.layout();
}
