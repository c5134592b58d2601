use dlpack_traits::Storage;

#[derive(Storage)]
pub enum Buffer {}

fn main() {}

pub fn compiles_all_the_same(buffer: &Buffer) {
    let _ = buffer.data();
}
