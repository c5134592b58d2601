//! Memory of a device, by addresses that are invalid on the host.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{BAD_ADDRESS, CAPACITY, Code, DEVICES, OUT_OF_MEMORY};

/// First byte of an allocation on a device.
///
/// All addresses are in the upper half of the address space, which no process can map: a
/// host that dereferences one crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(usize);

/// Where the first device's memory begins.
const BASE: usize = 1 << (usize::BITS - 1);

/// Bytes from the memory of one device to that of the next.
const SPAN: usize = BASE / DEVICES;

/// Bytes between addresses: more than any allocation has, so that no address is
/// ever used again, and a late access is a fault.
const STEP: usize = CAPACITY;

impl Address {
    /// The address as C code has it.
    pub fn as_ptr(self) -> *mut core::ffi::c_void {
        core::ptr::without_provenance_mut(self.0)
    }

    /// The address that C code has as a pointer.
    pub fn from_ptr(ptr: *mut core::ffi::c_void) -> Self {
        Self(ptr.addr())
    }
}

/// The memory of one device.
pub(super) struct Memory {
    device: usize,
    state: Mutex<State>,
}

struct State {
    allocated: usize,
    in_use: usize,
    blocks: BTreeMap<Address, Vec<u8>>,
}

impl Memory {
    pub(super) const fn new(device: usize) -> Self {
        let state = State { allocated: 0, in_use: 0, blocks: BTreeMap::new() };
        Self { device, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_use(&self) -> usize {
        self.state().in_use
    }

    /// Whether the address is inside an allocation.
    pub(super) fn has(&self, address: Address) -> bool {
        let state = self.state();
        let last = state.blocks.range(..=address).next_back();
        last.is_some_and(|(first, block)| address.0 - first.0 < block.len())
    }

    /// Zeroed bytes.
    pub(super) fn allocate(&self, byte_len: usize) -> Result<Address, Code> {
        let mut state = self.state();
        let in_use = state.in_use.checked_add(byte_len).filter(|&bytes| bytes <= CAPACITY);
        state.in_use = in_use.ok_or(OUT_OF_MEMORY)?;
        let address = Address(BASE + self.device * SPAN + state.allocated * STEP);
        state.allocated += 1;
        state.blocks.insert(address, vec![0; byte_len]);
        Ok(address)
    }

    pub(super) fn free(&self, address: Address) -> Result<(), Code> {
        let mut state = self.state();
        let block = state.blocks.remove(&address).ok_or(BAD_ADDRESS)?;
        state.in_use -= block.len();
        Ok(())
    }

    /// Runs a kernel over bytes of an allocation.
    pub(super) fn access<R>(
        &self,
        address: Address,
        bytes: core::ops::Range<usize>,
        kernel: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, Code> {
        let mut state = self.state();
        let block = state.blocks.get_mut(&address).ok_or(BAD_ADDRESS)?;
        Ok(kernel(block.get_mut(bytes).ok_or(BAD_ADDRESS)?))
    }
}
