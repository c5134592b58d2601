use std::sync::MutexGuard;

use dlpack_traits::{DLPackExport, Describe, Description, Error, ManagedTensor, Storage};

pub struct Locked(MutexGuard<'static, Vec<f32>>);

impl DLPackExport for Locked {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&[2]).data(self.0.data())
    }
}

pub fn export(locked: Locked) -> Result<ManagedTensor, Error> {
    locked.into_dlpack()
}

fn main() {}
