use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Samples {
    #[dlpack(data, shared)]
    values: Arc<[f32]>,
    shape: [usize; 1],
}

#[derive(DLPackExport)]
pub struct Pointer {
    #[dlpack(unsafe(ptr, len(elements) = 3), shared)]
    first: *const f32,
    #[dlpack(owner)]
    values: Arc<[f32]>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(samples: Samples, pointer: &Pointer) {
    let _ = samples.into_dlpack();
    let _ = pointer.tensor();
}
