//! The deleter of every tensor that this crate exports. For owners that are Python objects, it
//! attaches to the interpreter or leaks at its exit: `python::interpreter`.

use core::mem::needs_drop;

use crate::ffi::DLManagedTensorVersioned;
use crate::managed::ManagedStruct;
use crate::managed::allocation::Allocation;
use crate::panic::catch_panic;

/// Drops the owner and frees the packet. Any thread may call it.
///
/// It finds the packet through `manager_ctx`, not through its argument: a consumer may
/// access the struct through a `&mut` whose provenance covers only the struct, or may pass
/// a copy of the struct.
///
/// A panic of the owner's `Drop` is caught here; without the `std` feature it aborts the
/// process, because it cannot be caught.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`Packet`] wrote for the same `O`, or to a copy of
///    one whose `manager_ctx` was not changed.
/// 2. This is the only call for that struct, and nothing uses its memory any more.
///
/// [`Packet`]: crate::managed::packet::Packet
pub(crate) unsafe extern "C" fn delete<O>(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: 1. By 1 it points to such a struct.
    let Some(ctx) = (unsafe { DLManagedTensorVersioned::read_ctx(managed) }) else { return };
    // SAFETY: 1. `Packet` stored the address of the packet there.
    let place = unsafe { Allocation::<O>::from_ctx(ctx) };
    // SAFETY: 1. By 2 nothing uses it again. 2. `Packet` initialized the owner.
    let run = move || unsafe { place.release() };
    if needs_drop::<O>() {
        // The packet is freed either way, and a deleter cannot report the panic.
        let _ = catch_panic(run);
    } else {
        run();
    }
}
