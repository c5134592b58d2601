use dlpack_traits::Storage;

#[derive(Storage)]
#[repr(packed)]
pub struct Buffer(Vec<f32>);

fn main() {}

pub fn compiles_all_the_same(buffer: &Buffer) {
    let _ = buffer.data();
}
