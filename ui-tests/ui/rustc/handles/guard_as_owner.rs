use std::sync::MutexGuard;

use dlpack_traits::{DLPackExport, Error, Layout, ManagedTensor, Storage, TensorView};

pub struct Locked(MutexGuard<'static, Vec<f32>>);

impl DLPackExport for Locked {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::new(self.0.data(), Layout::row_major(&[2])?)
    }
}

pub fn export(locked: Locked) -> Result<ManagedTensor, Error> {
    locked.into_dlpack()
}

fn main() {}
