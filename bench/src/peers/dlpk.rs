//! `dlpk` 0.4: more than one dimension goes through `ndarray`.

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpk::{DLPackTensor, sys};
use ndarray::{Array2, ArrayView2};

use crate::contender::{Contender, Samples, look};

pub struct Dlpk;

impl Contender for Dlpk {
    const NAME: &'static str = "dlpk 0.4.1";

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { data, shape } = samples;
        let array = Array2::from_shape_vec(shape, data).expect("an array");
        let tensor = DLPackTensor::try_from(array).expect("a tensor");
        tensor.into_raw().as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32 {
        let managed = managed.cast::<sys::DLManagedTensorVersioned>();
        // SAFETY: by 1 of the trait.
        let tensor = unsafe { DLPackTensor::from_ptr(managed) };
        let view = ArrayView2::<f32>::try_from(tensor.as_ref()).expect("a view");
        look(view.as_slice().expect("a slice"))
    }
}
