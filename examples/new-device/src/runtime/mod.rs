//! The vendor's runtime: two accelerators that work on threads of their own, on
//! memory that has addresses of its own. This module does not use DLPack.
//!
//! Functions report codes, as a C interface would.

mod memory;
mod stream;

pub use memory::Address;
pub use stream::{
    Event, Stream, current_stream, default_stream, find_stream, shutdown, streams_at_work,
    with_stream,
};

use memory::Memory;

/// Number of devices.
pub const DEVICES: usize = 2;

/// The device does not exist.
pub const NO_DEVICE: Code = Code(1);
/// The stream does not exist, or is another device's.
pub const NO_STREAM: Code = Code(2);
/// Out of memory.
pub const OUT_OF_MEMORY: Code = Code(3);
/// A kernel accessed memory that does not belong to its device, or was freed.
pub const BAD_ADDRESS: Code = Code(4);

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

/// Bytes that a device has, and that one allocation can have at most.
const CAPACITY: usize = 1 << if usize::BITS == 64 { 28 } else { 18 };

static MEMORIES: [Memory; DEVICES] = [Memory::new(0), Memory::new(1)];

/// The memory of a device.
fn memory_of(device: usize) -> Result<&'static Memory, Code> {
    MEMORIES.get(device).ok_or(NO_DEVICE)
}

/// Bytes in use on a device, including those whose free is enqueued.
pub fn bytes_in_use(device: usize) -> Result<usize, Code> {
    Ok(memory_of(device)?.in_use())
}

/// The device with that memory, if there is one.
pub fn device_of(address: Address) -> Option<usize> {
    MEMORIES.iter().position(|memory| memory.has(address))
}
