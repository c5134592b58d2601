//! `tvm-ffi` 0.1: objects of its own, converted by its C++ library.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;

use dlpack_traits::ffi::DLManagedTensorVersioned;
use tvm_ffi::tvm_ffi_sys::dlpack::DLTensor;
use tvm_ffi::tvm_ffi_sys::{TVMFFITensorFromDLPackVersioned, TVMFFITensorToDLPackVersioned};
use tvm_ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, NDAllocator, ObjectArc, ObjectRefCore,
    Tensor,
};

use crate::contender::{Contender, LEN, Samples, look};

pub struct TvmFfi;

thread_local! {
    static NEXT: Cell<*mut f32> = const { Cell::new(ptr::null_mut()) };
}

/// Takes over samples in place of allocating. It has no fields: the crate lays
/// out allocators with fields where its header should be.
struct Adopt;

// SAFETY: it gives out memory with a capacity of `LEN` elements, and frees it.
unsafe impl NDAllocator for Adopt {
    const MIN_ALIGN: usize = 4;

    unsafe fn alloc_data(&mut self, _: &DLTensor) -> *mut c_void {
        NEXT.with(|next| next.replace(ptr::null_mut())).cast()
    }

    unsafe fn free_data(&mut self, tensor: &DLTensor) {
        // SAFETY: `export` took it out of a vector of that length and capacity.
        drop(unsafe { Vec::from_raw_parts(tensor.data.cast::<f32>(), LEN, LEN) });
    }
}

/// Imports a tensor with its metadata.
///
/// # Safety
///
/// 1. As for [`Contender::import`].
#[inline(always)]
pub unsafe fn import(managed: *mut DLManagedTensorVersioned) -> Tensor {
    let mut object = ptr::null_mut();
    // SAFETY: by 1; the result may be written.
    let code = unsafe { TVMFFITensorFromDLPackVersioned(managed.cast(), 0, 0, &raw mut object) };
    assert_eq!(code, 0);
    // SAFETY: the call made an object, and we hold its only reference.
    let object = unsafe { ObjectArc::from_raw(object as *const _) };
    // SAFETY: the object is a tensor.
    unsafe { Tensor::from_data(object) }
}

impl Contender for TvmFfi {
    const NAME: &'static str = "tvm-ffi 0.1.15";
    const COUNTED: bool = false;

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { data, shape } = samples;
        let mut data = ManuallyDrop::new(data);
        NEXT.with(|next| next.set(data.as_mut_ptr()));
        let shape = shape.map(|dim| dim as i64);
        let dtype = DLDataType { code: DLDataTypeCode::kDLFloat as u8, bits: 32, lanes: 1 };
        let device = DLDevice::new(DLDeviceType::kDLCPU, 0);
        let tensor = Tensor::from_nd_alloc(Adopt, &shape, dtype, device);
        let mut managed = ptr::null_mut();
        let object = Tensor::data(&tensor);
        // SAFETY: the object is alive.
        let object = unsafe { ObjectArc::as_raw(object) };
        // SAFETY: it is a tensor, and the result may be written.
        let code =
            unsafe { TVMFFITensorToDLPackVersioned(object.cast_mut().cast(), &raw mut managed) };
        assert_eq!(code, 0);
        managed.cast()
    }

    #[inline(always)]
    unsafe fn import(managed: *mut DLManagedTensorVersioned) -> f32 {
        // SAFETY: 1 (`managed` is a tensor of 16 x 16 `f32`): guaranteed by 1 of the trait.
        let tensor = unsafe { import(managed) };
        look(tensor.data_as_slice::<f32>().expect("a slice"))
    }
}
