use dlpack_traits::DLPackExport;

use std::sync::{Arc, RwLock};

#[derive(DLPackExport)]
pub struct Image {
    #[dlpack(data)]
    pixels: Arc<RwLock<Vec<u8>>>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(image: Image) {
    let _ = image.into_dlpack();
}
