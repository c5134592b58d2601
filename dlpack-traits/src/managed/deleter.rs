//! The deleter of an export: [`delete`] drops the owner and frees the packet. For owners that are
//! Python objects, it attaches to the interpreter or leaks at its exit: `python::interpreter`.

use alloc::boxed::Box;
use core::ffi::c_void;
use core::mem::{ManuallyDrop, needs_drop};
use core::ptr::NonNull;

use crate::ffi::DLManagedTensorVersioned;
use crate::managed::ManagedStruct;
use crate::managed::head::WithHead;
use crate::panic::{catch_panic, catch_second_panic};

/// Drops the owner and frees the packet: one outlined function for all types. If this thread is
/// already unwinding, a panic of the drop is caught.
///
/// # Safety
///
/// 1. `release` may be called with `ctx`.
#[cold]
#[inline(never)]
pub(super) unsafe fn discard(ctx: NonNull<c_void>, release: unsafe fn(NonNull<c_void>)) {
    // SAFETY: guaranteed by our caller's 1.
    catch_second_panic(|| unsafe { release(ctx) });
}

/// Drops the owner and frees the packet, even if the drop panics.
///
/// # Safety
///
/// 1. `packet` is the address of a [`Packet`](super::Packet) of the same `O`, and nothing uses the memory again.
#[inline(always)]
pub(super) unsafe fn release<O>(packet: NonNull<c_void>) {
    let place = packet.cast::<WithHead<ManuallyDrop<O>>>();
    // SAFETY: by 1 and the invariant it is a box, whose owner and spill are initialized.
    let mut place = unsafe { Box::from_raw(place.as_ptr()) };
    // The box would drop it by a call (measured: 7 instructions per export of an import).
    // SAFETY: the owner is not used again. The box is dropped after it.
    unsafe { ManuallyDrop::drop(&mut place.value) };
}

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
/// 1. `managed` points to a struct that [`Packet`](super::Packet) wrote for the same `O`, or to a copy of
///    one whose `manager_ctx` was not changed.
/// 2. This is the only call for that struct, and nothing uses its memory any more.
pub(super) unsafe extern "C" fn delete<O>(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: 1. By 1 it points to such a struct.
    let Some(ctx) = (unsafe { DLManagedTensorVersioned::read_ctx(managed) }) else { return };
    // SAFETY: 1. `Packet` stored the address there, and by 2 nothing uses the memory again.
    let run = move || unsafe { release::<O>(ctx) };
    if needs_drop::<O>() {
        // The packet is freed either way, and a deleter cannot report the panic.
        let _ = catch_panic(run);
    } else {
        run();
    }
}
