//! The simulator's controls, available where the library is the simulator.

use std::ffi::{CString, c_char, c_int, c_void};

use libloading::Library;

use crate::driver::HostFunction;

/// How many of each thing exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Allocations of devices.
    pub device_memory: usize,
    /// Pinned allocations.
    pub pinned_memory: usize,
    /// Managed allocations.
    pub managed_memory: usize,
    /// Streams.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Captures that were begun.
    pub captures: usize,
    /// Graphs.
    pub graphs: usize,
    /// Modules.
    pub modules: usize,
    /// Primary contexts, as often as they were retained.
    pub contexts: usize,
}

/// A callback that a test runs in the middle of a driver call.
type Call = Box<dyn FnOnce() + Send>;

/// # Safety
///
/// 1. `argument` is a `Box<Call>` that the caller gives up.
unsafe extern "C" fn run(argument: *mut c_void) {
    // SAFETY: (1).
    let call = unsafe { Box::from_raw(argument.cast::<Call>()) };
    call();
}

/// The simulator's controls.
#[derive(Clone, Copy, Debug)]
pub struct Simulator {
    counts: extern "C" fn(*mut Counts) -> c_int,
    set_delay_us: extern "C" fn(u64),
    fail: unsafe extern "C" fn(*const c_char, u32, c_int),
    fail_none: extern "C" fn() -> c_int,
    failed: extern "C" fn(*mut usize) -> *const u8,
    calls: unsafe extern "C" fn(*const c_char) -> u32,
    clear_error: extern "C" fn() -> c_int,
    before: unsafe extern "C" fn(*const c_char, HostFunction, *mut c_void),
    set_memory_pools: extern "C" fn(usize, bool),
    set_attributes_need_context: extern "C" fn(bool),
    reset_context: extern "C" fn(usize),
}

impl Simulator {
    /// The controls; `None` where the library is a driver.
    pub fn of(library: &'static Library) -> Option<Self> {
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: only the simulator exports functions of this name, and the type
                // is that of its definition.
                *unsafe { library.get($name) }.ok()?
            };
        }
        Some(Self {
            counts: get!(b"sim_counts\0"),
            set_delay_us: get!(b"sim_set_delay_us\0"),
            fail: get!(b"sim_fail\0"),
            fail_none: get!(b"sim_fail_none\0"),
            failed: get!(b"sim_failed\0"),
            calls: get!(b"sim_calls\0"),
            clear_error: get!(b"sim_clear_error\0"),
            before: get!(b"sim_before\0"),
            set_memory_pools: get!(b"sim_set_memory_pools\0"),
            set_attributes_need_context: get!(b"sim_set_attributes_need_context\0"),
            reset_context: get!(b"sim_reset_context\0"),
        })
    }

    /// Returns how many of each object exist when all enqueued work has finished.
    pub fn counts(self) -> Counts {
        let mut counts = Counts::default();
        assert_eq!((self.counts)(&raw mut counts), 0);
        counts
    }

    /// Sets how long everything takes, at least.
    pub fn set_delay_us(self, microseconds: u64) {
        (self.set_delay_us)(microseconds);
    }

    /// The call of `name`, or of any function, after `after` more ones fails.
    pub fn fail(self, name: Option<&str>, after: u32, code: c_int) {
        let name = name.map(|name| CString::new(name).expect("a name"));
        let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        // SAFETY: NULL or a C string that lives during the call.
        unsafe { (self.fail)(name, after, code) }
    }

    /// The next call of `name` first calls this, on its thread.
    pub fn before(self, name: &str, call: impl FnOnce() + Send + 'static) {
        let name = CString::new(name).expect("a name");
        let call: Box<Call> = Box::new(Box::new(call));
        let argument = Box::into_raw(call).cast();
        // SAFETY: 1. A C string that lives during the call. 2. `run` gets its argument
        // once.
        unsafe { (self.before)(name.as_ptr(), run, argument) }
    }

    /// Sets whether a device allocates in the order of streams.
    pub fn set_memory_pools(self, ordinal: usize, supported: bool) {
        (self.set_memory_pools)(ordinal, supported);
    }

    /// Sets whether questions about pointers fail on a thread without a context.
    pub fn set_attributes_need_context(self, needed: bool) {
        (self.set_attributes_need_context)(needed);
    }

    /// Destroys the primary context of a device, whatever its reference count.
    pub fn reset_context(self, ordinal: usize) {
        (self.reset_context)(ordinal);
    }

    /// No call fails on request any more. Whether one did.
    pub fn fail_none(self) -> bool {
        (self.fail_none)() != 0
    }

    /// The function that failed on request.
    pub fn failed(self) -> Option<&'static str> {
        let mut len = 0;
        let name = (self.failed)(&raw mut len);
        if name.is_null() {
            return None;
        }
        // SAFETY: a name of `len` bytes that lives as long as the library, which
        // stays loaded.
        let name = unsafe { std::slice::from_raw_parts(name, len) };
        std::str::from_utf8(name).ok()
    }

    /// How often a function was called.
    pub fn calls(self, name: &str) -> u32 {
        let name = CString::new(name).expect("a name");
        // SAFETY: a C string that lives during the call.
        unsafe { (self.calls)(name.as_ptr()) }
    }

    /// Returns and clears the error of the devices; 0 if there is none.
    pub fn clear_error(self) -> c_int {
        (self.clear_error)()
    }
}
