//! `dlpark` 0.10: metadata of a fixed rank in the allocation, the context boxed.

use dlpack_traits::ffi::DLManagedTensorVersioned;
use dlpark::metadata::Fixed;
use dlpark::{DlpackElement as _, Managed, ffi};

use crate::contender::{Contender, Samples, look};

pub struct Dlpark;

impl Contender for Dlpark {
    const NAME: &'static str = "dlpark 0.10.0";

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { data, shape } = samples;
        let shape = shape.map(|dim| dim as i64);
        let strides = [shape[1], 1];
        let mut context = Box::new(data);
        let first = context.as_mut_ptr();
        let mut tensor = Fixed::new(&shape, &strides)
            .initialize_as::<ffi::DLManagedTensorVersioned>(context)
            .expect("a tensor");
        tensor.set_data(first.cast());
        tensor.set_dtype(f32::DTYPE);
        tensor.set_device(ffi::DLDevice::CPU);
        // SAFETY: the context owns the samples, which lie as was said.
        unsafe { tensor.finish() }.into_raw().cast()
    }

    #[inline(always)]
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32 {
        let managed = managed.cast::<ffi::DLManagedTensorVersioned>();
        // SAFETY: by 1 of the trait.
        let managed = unsafe { Managed::from_raw(managed) }.expect("a tensor");
        let tensor = managed.validate().expect("a sound tensor");
        // SAFETY: the samples are not written.
        look(unsafe { tensor.cpu_slice::<f32>() }.expect("a slice"))
    }
}
