use std::sync::Arc;

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct Samples {
    #[dlpack(data, shared)]
    values: Arc<[f32]>,
    shape: [usize; 1],
}

fn main() {}

pub fn compiles_all_the_same(samples: Samples) {
    let _ = samples.into_dlpack();
}
