//! This project's crate, as a user has it: a derive, and no more.

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, Imported};

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
        // SAFETY: by 1 of the trait.
        let tensor = unsafe { Imported::from_raw(managed) }.expect("a tensor");
        // SAFETY: nobody writes the samples.
        let frozen = unsafe { tensor.assume_frozen() };
        look(frozen.as_slice::<f32>().expect("a slice"))
    }
}
