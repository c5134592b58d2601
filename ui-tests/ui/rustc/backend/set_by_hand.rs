use core::ffi::c_void;

use dlpack_traits::backend::{Backends, Prototype};
use dlpack_traits::{Device, Error, ManagedTensor};

struct Mine;

impl Backends for Mine {
    fn allocate(_: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        Err(Error::NotShareable)
    }

    fn current_work_stream(_: Device) -> Result<*mut c_void, Error> {
        Ok(core::ptr::dangling_mut())
    }
}

fn main() {}
