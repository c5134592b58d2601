use dlpack_traits::Storage;

#[derive(Storage)]
pub union Buffer {
    bytes: [u8; 8],
}

fn main() {}

pub fn compiles_all_the_same(buffer: &Buffer) {
    let _ = buffer.data();
}
