//! This project's crate, as a user has it: a derive, and no more.

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, ImportedSlice};

use crate::contender::{Contender, Samples, look};

/// The derive.
pub struct Ours;

#[derive(DLPackExport)]
struct Matrix {
    data: Vec<f32>,
    shape: [usize; 2],
}

impl Contender for Ours {
    const NAME: &'static str = "dlpack-traits";

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { data, shape } = samples;
        Matrix { data, shape }.into_dlpack().expect("a tensor").into_raw()
    }

    #[inline(always)]
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32 {
        // SAFETY: by 1 of the trait; nobody writes the samples.
        look(&unsafe { ImportedSlice::<f32>::from_raw(managed) }.expect("a slice"))
    }
}
