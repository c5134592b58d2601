use dlpack_traits::AsLayout;

#[derive(AsLayout)]
pub struct Layout;

fn main() {}

pub fn compiles_all_the_same(layout: &Layout) {
    let _ = layout.layout();
}
