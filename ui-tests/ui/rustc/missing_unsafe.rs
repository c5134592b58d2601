use core::ffi::c_void;

use dlpack_traits::backend::{Backends, NoStream, Prototype, Stream};
use dlpack_traits::{DataType, Device, Element, Error, ManagedTensor};

#[derive(Clone)]
pub struct Queue;

impl Stream for Queue {
    type Event = NoStream;

    const IN_ORDER: bool = true;
    const GRAPHS: bool = false;

    fn record(&self) -> Result<NoStream, Error> {
        Ok(NoStream)
    }

    fn wait(&self, _: &NoStream) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

struct Mine;

impl Backends for Mine {
    fn allocate(_: &Prototype<'_>) -> Result<ManagedTensor, Error> {
        Err(Error::NotShareable)
    }

    fn current_work_stream(_: Device) -> Result<*mut c_void, Error> {
        Ok(core::ptr::dangling_mut())
    }
}

#[derive(Clone, Copy)]
pub struct Nothing;

impl Element for Nothing {
    const DTYPE: DataType = DataType::F32;
    const ANY_BITS: bool = true;
}

fn main() {}
