//! A tensor of `dlpark` 0.10: the layout is in an allocation of a fixed rank, and the
//! owner in a second one.

use std::sync::Arc;

use dlpark::DlpackElement as _;
use dlpark::DlpackFlags;
use dlpark::ffi::{DLDevice, DLManagedTensorVersioned};
use dlpark::metadata::Fixed;

pub struct Tensor {
    pub data: Arc<Vec<f32>>,
    pub shape: [usize; 2],
    pub strides: [usize; 2],
}

impl Tensor {
    pub fn to_managed(&self) -> *mut DLManagedTensorVersioned {
        let shape = self.shape.map(|extent| extent as i64);
        let strides = self.strides.map(|step| step as i64);
        let mut tensor = Fixed::new(&shape, &strides)
            .initialize_as::<DLManagedTensorVersioned>(Box::new(Arc::clone(&self.data)))
            .expect("a tensor");
        tensor.set_data(self.data.as_ptr().cast_mut().cast());
        tensor.set_dtype(f32::DTYPE);
        tensor.set_device(DLDevice::CPU);
        tensor.set_flags(DlpackFlags::READ_ONLY).expect("a flag of this version");
        // SAFETY: the strides stay inside of the data, which the box keeps alive.
        unsafe { tensor.finish() }.into_raw()
    }
}
