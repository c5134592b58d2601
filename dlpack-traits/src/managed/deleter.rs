//! The deleter of every tensor that this crate exports.

use core::mem::needs_drop;
use core::ptr::NonNull;

use crate::contain::contain;
use crate::managed::Abi;
use crate::managed::packet::{Packet, release};

/// Drops the owner and frees the packet. Any thread may call it.
///
/// It finds the packet through `manager_ctx`, not through its argument: a
/// consumer may hold the struct by a `&mut` that reaches no further than the
/// struct, or may pass a copy of it.
///
/// A panic of the owner's `Drop` stops here; without the `std` feature it
/// aborts the process, because nothing can catch it.
///
/// # Safety
///
/// 1. `managed` points to a struct that [`Unfinished`] wrote for the same
///    `A` and `O`, or to a copy of one whose `manager_ctx` was not changed.
/// 2. This is the only call for that struct, and nobody uses its memory any more.
///
/// [`Unfinished`]: crate::managed::packet::Unfinished
pub(crate) unsafe extern "C" fn delete<A: Abi, O>(managed: *mut A) {
    let Some(managed) = NonNull::new(managed) else { return };
    // SAFETY: by 1 it points to such a struct, which is plain data.
    let managed = unsafe { managed.read() };
    let Some(packet) = NonNull::new(managed.manager_ctx().cast::<Packet<A, O>>()) else { return };
    // SAFETY: that put the address of the packet into `manager_ctx`, and by
    // 2 nobody uses it again.
    let run = move || unsafe { release(packet) };
    if needs_drop::<O>() {
        // The packet is freed either way, and there is nobody to tell.
        let _ = contain(run);
    } else {
        run();
    }
}
