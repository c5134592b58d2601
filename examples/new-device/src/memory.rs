//! The optional capabilities of a backend: allocation, copies to the host, and queries of
//! addresses.

use core::ffi::c_void;
use core::ptr::NonNull;

use dlpack_traits::backend::{
    Allocator, Attributes, Memcpy, MemoryRef, PointerAttributes, WorkStream,
};
use dlpack_traits::ffi::kDLExtDev;
use dlpack_traits::{Device, Error};

use crate::backend::{Npu, failed};
use crate::runtime::{self, Address, OUT_OF_MEMORY};

// SAFETY: 1. An address is allocated once, with its own bytes. 2. The runtime
// zeroes them before it returns. 3. A free is work of the stream.
unsafe impl Allocator for Npu {
    fn allocate(stream: &WorkStream<Self>, byte_len: usize) -> Result<NonNull<c_void>, Error> {
        let address = stream.stream().allocate(byte_len).map_err(|code| match code {
            OUT_OF_MEMORY => Error::OutOfMemory { bytes: byte_len },
            code => failed(stream.device(), "allocate")(code),
        })?;
        NonNull::new(address.as_ptr()).ok_or(Error::OutOfMemory { bytes: byte_len })
    }

    unsafe fn deallocate(
        stream: &WorkStream<Self>,
        data: NonNull<c_void>,
        _byte_len: usize,
    ) -> Result<(), Error> {
        stream.stream().free(Address::from_ptr(data.as_ptr()));
        Ok(())
    }
}

// SAFETY: 1. The copies are work of the stream, and access only the given ranges.
unsafe impl Memcpy for Npu {
    unsafe fn copy(
        stream: &WorkStream<Self>,
        from: MemoryRef,
        to: MemoryRef,
        byte_len: usize,
    ) -> Result<(), Error> {
        let queue = stream.stream();
        let ours = |place: &MemoryRef| place.device == stream.device();
        let inside = |place: &MemoryRef| {
            let byte_offset = usize::try_from(place.byte_offset).unwrap_or(usize::MAX);
            (Address::from_ptr(place.data), byte_offset)
        };
        if ours(&from) && ours(&to) {
            queue.copy(inside(&from), inside(&to), byte_len);
        } else if ours(&from) && to.device == Device::CPU {
            // SAFETY: 1. By 1.
            unsafe { queue.copy_to_host(inside(&from), to.address(), byte_len) };
        } else if from.device == Device::CPU && ours(&to) {
            // SAFETY: 1. By 1.
            unsafe { queue.copy_from_host(from.address(), inside(&to), byte_len) };
        } else {
            return Err(Error::Unsupported { device: stream.device(), what: "copy between those" });
        }
        Ok(())
    }
}

// SAFETY: 1. The runtime looks the address up among its allocations.
unsafe impl PointerAttributes for Npu {
    fn attributes(data: *const c_void, hint: Device) -> Result<Attributes, Error> {
        let index = runtime::device_of(Address::from_ptr(data.cast_mut()));
        let index = index.and_then(|index| i32::try_from(index).ok());
        let index = index.ok_or(Error::NoBackend { device: hint })?;
        Ok(Attributes { device: Device::new(kDLExtDev, index), host_accessible: false })
    }
}
