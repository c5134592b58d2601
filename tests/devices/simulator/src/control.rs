//! The `sim_*` functions, with which tests control the simulator.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::time::Duration;

use crate::boundary::{Out, code};
use crate::memory::Kind;
use crate::state;
use crate::status::Status;
use crate::stream::Which;
use crate::work::Callback;

/// How many of each thing exist.
#[repr(C)]
pub(crate) struct Counts {
    device_memory: usize,
    pinned_memory: usize,
    managed_memory: usize,
    streams: usize,
    events: usize,
    captures: usize,
    graphs: usize,
    modules: usize,
    contexts: usize,
}

/// Returns how many of each object exist, after waiting for enqueued frees.
#[unsafe(no_mangle)]
extern "C" fn sim_counts(out: Out<Counts>) -> c_int {
    let tails = state::lock().all_tails();
    for fence in tails {
        fence.wait();
    }
    let state = state::lock();
    let memory = &state.memory;
    code(out.put(Counts {
        device_memory: memory.count(Kind::Device) + memory.count(Kind::Pooled),
        pinned_memory: memory.count(Kind::Pinned),
        managed_memory: memory.count(Kind::Managed),
        streams: state.streams.keys().filter(|which| matches!(which, Which::Made(_))).count(),
        events: state.events.len(),
        captures: state.captures.len(),
        graphs: state.graphs.len() + state.executables.len(),
        modules: state.modules.len(),
        contexts: state.devices.iter().map(|device| device.retained).sum(),
    }))
}

/// Sets how long everything takes on a device, at least.
#[unsafe(no_mangle)]
extern "C" fn sim_set_delay_us(microseconds: u64) {
    state::lock().delay = Duration::from_micros(microseconds);
}

/// The call of `name` (NULL: of any function) after `after` more ones fails
/// with this code.
///
/// # Safety
///
/// 1. `name` is NULL or a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn sim_fail(name: *const c_char, after: u32, code: c_int) {
    let name = if name.is_null() {
        None
    } else {
        // SAFETY: (1).
        Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    };
    state::lock().faults.plan(name, after, Status(code));
}

/// The next call of `name` first calls `function`, once, on its thread.
///
/// # Safety
///
/// 1. `name` is a C string.
/// 2. `function` may be called with `argument` once, by any thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn sim_before(
    name: *const c_char,
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: (1).
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    state::lock().faults.call_before(name, Callback { function, argument });
}

/// Sets whether a device allocates in the order of streams.
#[unsafe(no_mangle)]
extern "C" fn sim_set_memory_pools(ordinal: usize, supported: bool) {
    if let Some(device) = state::lock().devices.get_mut(ordinal) {
        device.has_pools = supported;
    }
}

/// Sets whether questions about pointers fail on a thread without a context.
#[unsafe(no_mangle)]
extern "C" fn sim_set_attributes_need_context(needed: bool) {
    state::lock().attributes_need_context = needed;
}

/// Destroys the primary context of a device and its streams, whatever its reference count, as
/// `cuDevicePrimaryCtxReset` does. The next one that is retained has the same handle.
#[unsafe(no_mangle)]
extern "C" fn sim_reset_context(ordinal: usize) {
    let mut state = state::lock();
    if let Some(device) = state.devices.get_mut(ordinal) {
        (device.retained, device.resets) = (0, device.resets + 1);
        state
            .streams
            .retain(|which, stream| !matches!(which, Which::Made(_)) || stream.ordinal != ordinal);
    }
}

/// No call fails on request any more. Returns how many did since the request: 0 or 1.
#[unsafe(no_mangle)]
extern "C" fn sim_fail_none() -> c_int {
    let mut state = state::lock();
    let fired = state.faults.fired().is_some();
    state.faults.clear();
    c_int::from(fired)
}

/// The name of the function that failed on request, with its length; NULL if
/// none did. It is not terminated.
#[unsafe(no_mangle)]
extern "C" fn sim_failed(len: Out<usize>) -> *const u8 {
    let Some(name) = state::lock().faults.fired() else { return ptr::null() };
    len.put_if_asked(name.len());
    name.as_ptr()
}

/// How often a function was called.
///
/// # Safety
///
/// 1. `name` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn sim_calls(name: *const c_char) -> u32 {
    // SAFETY: (1).
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    state::lock().faults.calls(&name)
}

/// Returns and clears the error of all devices, 0 if there is none, so that one process
/// can run several tests.
#[unsafe(no_mangle)]
extern "C" fn sim_clear_error() -> c_int {
    let mut state = state::lock();
    let failed = state.devices.iter_mut().filter_map(|device| device.failed.take()).last();
    failed.map_or(0, |status| status.0)
}
