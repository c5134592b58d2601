//! Allocating, freeing, and pointer attributes.

use std::ffi::{c_int, c_uint, c_void};

use super::context::{context_of, current};
use crate::boundary::{Out, call, release};
use crate::memory::Kind;
use crate::ops::memory;
use crate::state;
use crate::status::Status;

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(address: Out<usize>, len: usize) -> c_int {
    call("cuMemAlloc_v2", || address.put(memory::allocate(current()?, Kind::Device, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocManaged(address: Out<usize>, len: usize, _flags: c_uint) -> c_int {
    call("cuMemAllocManaged", || address.put(memory::allocate(current()?, Kind::Managed, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(address: Out<usize>, len: usize, _flags: c_uint) -> c_int {
    call("cuMemHostAlloc", || address.put(memory::allocate(current()?, Kind::Pinned, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocHost_v2(address: Out<usize>, len: usize) -> c_int {
    call("cuMemAllocHost_v2", || address.put(memory::allocate(current()?, Kind::Pinned, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocAsync(address: Out<usize>, len: usize, stream: usize) -> c_int {
    call("cuMemAllocAsync", || address.put(memory::allocate_in_order(current()?, stream, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: usize) -> c_int {
    release("cuMemFree_v2", || {
        current()?;
        memory::free(address)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync(address: usize, stream: usize) -> c_int {
    release("cuMemFreeAsync", || memory::free_in_order(current()?, stream, address))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(address: usize) -> c_int {
    release("cuMemFreeHost", || {
        current()?;
        memory::free_host(address)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> c_int {
    call("cuMemGetInfo_v2", || {
        current()?;
        free.put(state::lock().memory.available())?;
        total.put(crate::memory::CAPACITY)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetAddressRange_v2(start: Out<usize>, len: Out<usize>, address: usize) -> c_int {
    call("cuMemGetAddressRange_v2", || {
        let found = memory::attributes(address).map_err(|_| Status::NOT_FOUND)?;
        start.put_if_asked(found.start);
        len.put_if_asked(found.len);
        Ok(())
    })
}

/// Values of `CUpointer_attribute`.
mod attribute {
    pub(super) const CONTEXT: u32 = 1;
    pub(super) const MEMORY_TYPE: u32 = 2;
    pub(super) const DEVICE_POINTER: u32 = 3;
    pub(super) const HOST_POINTER: u32 = 4;
    pub(super) const IS_MANAGED: u32 = 8;
    pub(super) const DEVICE_ORDINAL: u32 = 9;
    pub(super) const RANGE_START_ADDR: u32 = 11;
    pub(super) const RANGE_SIZE: u32 = 12;
}

/// A boolean of C's that is true, and is not where only its first byte is read. The
/// driver documents no width; libraries in front of it write four bytes.
const TRUE: u32 = 0x100;

#[unsafe(no_mangle)]
extern "C" fn cuPointerGetAttribute(data: *mut c_void, attribute: u32, address: usize) -> c_int {
    call("cuPointerGetAttribute", || {
        if state::lock().attributes_need_context {
            current()?;
        }
        let found = memory::attributes(address)?;
        // The result has the size that the attribute defines.
        let number = |value: u32| Out::<u32>::of_attribute(data).put(value);
        let pointer = |value: usize| Out::<usize>::of_attribute(data).put(value);
        match attribute {
            attribute::CONTEXT => pointer(context_of(found.ordinal)),
            // Managed memory is the device's for this question.
            attribute::MEMORY_TYPE => number(if found.kind == Kind::Pinned { 1 } else { 2 }),
            attribute::DEVICE_POINTER => pointer(address),
            attribute::HOST_POINTER => match found.kind {
                Kind::Pinned | Kind::Managed => pointer(address),
                Kind::Device | Kind::Pooled => Err(Status::INVALID_VALUE),
            },
            attribute::IS_MANAGED => number(if found.kind == Kind::Managed { TRUE } else { 0 }),
            attribute::DEVICE_ORDINAL => number(u32::try_from(found.ordinal).unwrap_or(u32::MAX)),
            attribute::RANGE_START_ADDR => pointer(found.start),
            attribute::RANGE_SIZE => pointer(found.len),
            _ => Err(Status::NOT_SUPPORTED),
        }
    })
}
