use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Frame {
    #[dlpack(unsafe(ptr, len(elements) = self.owner.len()))]
    first: *const u8,
    #[dlpack(owner)]
    owner: Arc<[u8]>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(frame: &Frame) {
    let _ = frame.tensor();
}
