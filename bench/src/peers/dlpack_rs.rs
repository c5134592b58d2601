//! `dlpack-rs` 0.3: exports only; its importer needs an interpreter and gives
//! no slice.

use dlpack_rs::ffi::DLManagedTensorVersioned as Theirs;
use dlpack_rs::safe::{TensorInfo, cpu_device, dtype_f32, pack_versioned};
use dlpack_traits::ffi::DLManagedTensorVersioned;

use crate::contender::{Contender, Samples};

pub struct DlpackRs;

impl Contender for DlpackRs {
    const NAME: &'static str = "dlpack-rs 0.3.4";
    const IMPORTS: bool = false;

    #[inline(always)]
    fn export(samples: Samples) -> *mut DLManagedTensorVersioned {
        let Samples { mut data, shape } = samples;
        let shape = shape.map(|dim| dim as i64);
        let strides = vec![shape[1], 1];
        let info = TensorInfo::strided(
            data.as_mut_ptr().cast(),
            cpu_device(),
            dtype_f32(),
            shape.to_vec(),
            strides,
        );
        let managed: *mut Theirs = pack_versioned(data, info, 0);
        managed.cast()
    }

    unsafe fn import(_: *mut DLManagedTensorVersioned) -> f32 {
        unreachable!("it has no importer for C structs")
    }
}
