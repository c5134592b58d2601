//! This project's crate, as a user has it: a derive, and no more.

use std::sync::Arc;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpack_traits::{DLPackExport, ExportArc, ImportedSlice};

use crate::contender::{Contender, Samples, Shares, look};

/// The derive.
pub struct Ours;

#[derive(DLPackExport)]
pub struct Matrix {
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
        // SAFETY: guaranteed by 1 of the trait; the samples are not written.
        look(&unsafe { ImportedSlice::<f32>::from_raw(managed) }.expect("a slice"))
    }
}

impl Shares for Ours {
    const NAME_SHARED: &'static str = "dlpack-traits, ExportArc";
    type Owner = ExportArc<Matrix>;

    fn owner(samples: Samples) -> ExportArc<Matrix> {
        let Samples { data, shape } = samples;
        ExportArc::new(Matrix { data, shape }).expect("memory")
    }

    #[inline(always)]
    fn export_shared(owner: &ExportArc<Matrix>) -> *mut DLManagedTensorVersioned {
        owner.to_dlpack().expect("a tensor").into_raw()
    }
}

/// The same without `ExportArc`: a packet for each export.
pub struct OursArc;

#[derive(DLPackExport)]
pub struct ArcMatrix {
    data: Arc<[f32]>,
    shape: [usize; 2],
}

impl Shares for OursArc {
    const NAME_SHARED: &'static str = "dlpack-traits, Arc<[f32]>";
    type Owner = ArcMatrix;

    fn owner(samples: Samples) -> ArcMatrix {
        ArcMatrix { data: samples.data.into(), shape: samples.shape }
    }

    #[inline(always)]
    fn export_shared(owner: &ArcMatrix) -> *mut DLManagedTensorVersioned {
        owner.to_dlpack().expect("a tensor").into_raw()
    }
}
