//! Allocating, freeing, and pointer attributes.

use std::ffi::{c_int, c_uint};

use super::{call, release};
use crate::boundary::Out;
use crate::memory::Kind;
use crate::ops::memory;

#[unsafe(no_mangle)]
extern "C" fn hipMalloc(address: Out<usize>, len: usize) -> c_int {
    call("hipMalloc", |current| address.put(memory::allocate(current, Kind::Device, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipMallocManaged(address: Out<usize>, len: usize, _flags: c_uint) -> c_int {
    call("hipMallocManaged", |current| address.put(memory::allocate(current, Kind::Managed, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipHostMalloc(address: Out<usize>, len: usize, _flags: c_uint) -> c_int {
    call("hipHostMalloc", |current| address.put(memory::allocate(current, Kind::Pinned, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipMallocAsync(address: Out<usize>, len: usize, stream: usize) -> c_int {
    call("hipMallocAsync", |current| address.put(memory::allocate_in_order(current, stream, len)?))
}

#[unsafe(no_mangle)]
extern "C" fn hipFree(address: usize) -> c_int {
    release("hipFree", |_| if address == 0 { Ok(()) } else { memory::free(address) })
}

#[unsafe(no_mangle)]
extern "C" fn hipFreeAsync(address: usize, stream: usize) -> c_int {
    release("hipFreeAsync", |current| memory::free_in_order(current, stream, address))
}

#[unsafe(no_mangle)]
extern "C" fn hipHostFree(address: usize) -> c_int {
    release("hipHostFree", |_| if address == 0 { Ok(()) } else { memory::free_host(address) })
}

/// `hipPointerAttribute_t` of ROCm 6.
#[repr(C)]
struct Attributes {
    kind: c_int,
    device: c_int,
    device_pointer: usize,
    host_pointer: usize,
    is_managed: c_int,
    flags: c_uint,
}

#[unsafe(no_mangle)]
extern "C" fn hipPointerGetAttributes(attributes: Out<Attributes>, address: usize) -> c_int {
    call("hipPointerGetAttributes", |_| {
        let Ok(found) = memory::attributes(address) else {
            // Since ROCm 6 this is an answer, `hipMemoryTypeUnregistered`.
            let host_pointer = address;
            return attributes.put(Attributes {
                kind: 0,
                device: -2,
                device_pointer: 0,
                host_pointer,
                is_managed: 0,
                flags: 0,
            });
        };
        let host_sees = matches!(found.kind, Kind::Pinned | Kind::Managed);
        attributes.put(Attributes {
            kind: match found.kind {
                Kind::Pinned => 1,
                Kind::Device | Kind::Pooled => 2,
                Kind::Managed => 3,
            },
            device: c_int::try_from(found.ordinal).unwrap_or(c_int::MAX),
            device_pointer: address,
            host_pointer: if host_sees { address } else { 0 },
            is_managed: c_int::from(found.kind == Kind::Managed),
            flags: 0,
        })
    })
}
