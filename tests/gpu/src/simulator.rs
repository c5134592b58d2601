//! The simulator's controls, where the library is the simulator.

use std::ffi::{CString, c_char, c_int};

use libloading::Library;

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
}

impl Simulator {
    /// The controls; `None` where the library is a driver.
    pub fn of(library: &'static Library) -> Option<Self> {
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: nobody else has functions of this name, and the type
                // is that of the simulator's.
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
        })
    }

    /// How many of each thing exist, when all that was asked for is done.
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

    /// What went wrong on the devices, which is forgotten; 0 if nothing did.
    pub fn clear_error(self) -> c_int {
        (self.clear_error)()
    }
}
