use dlpack_traits::AsLayout;

#[derive(AsLayout)]
pub struct Strided {
    shape: Vec<usize>,
    strides: Vec<isize>,
    version: u32,
}

fn main() {}

pub fn compiles_all_the_same(layout: &Strided) {
    let _ = layout.describe_layout(dlpack_traits::Slot::new().describe());
}
