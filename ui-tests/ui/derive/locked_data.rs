use std::sync::Mutex;
use std::sync::{Arc, RwLock};

use dlpack_traits::DLPackExport;

#[derive(DLPackExport)]
pub struct CellImage {
    data: std::cell::Cell<[u8; 4]>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct MutexImage {
    data: Mutex<Vec<u8>>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct RefCellImage {
    data: std::cell::RefCell<Vec<u8>>,
    shape: [usize; 2],
}

#[derive(DLPackExport)]
pub struct RwLockImage {
    #[dlpack(data)]
    pixels: Arc<RwLock<Vec<u8>>>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    cell_image: CellImage,
    mutex_image: MutexImage,
    ref_cell_image: RefCellImage,
    rw_lock_image: RwLockImage,
) {
    let _ = cell_image.into_dlpack();
    let _ = mutex_image.into_dlpack();
    let _ = ref_cell_image.into_dlpack();
    let _ = rw_lock_image.into_dlpack();
}
