//! Failures outside of this crate: no memory, panics of user code, many threads at once.
//! Nothing is leaked, and no process aborts, but for want of one element (`memory`).

mod faults {
    pub(crate) mod alarm;
    pub(crate) mod hooks;
    pub(crate) mod load;
    pub(crate) mod memory;
    pub(crate) mod second_panic;
    pub(crate) mod soak;
}

#[global_allocator]
static ALLOCATOR: faults::alarm::Alarm = faults::alarm::Alarm;
