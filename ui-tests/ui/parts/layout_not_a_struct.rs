use dlpack_traits::AsLayout;

#[derive(AsLayout)]
pub enum Enum {
    Flat(usize),
}

#[derive(AsLayout)]
pub union Union {
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(enum_layout: &Enum, union: &Union) {
    let _ = enum_layout.layout();
    let _ = union.layout();
}
