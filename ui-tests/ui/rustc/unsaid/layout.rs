use dlpack_traits::AsLayout;

type Px = u32;

#[derive(AsLayout)]
pub struct Image {
    shape: Vec<usize>,
    row: Px,
}

fn main() {}
