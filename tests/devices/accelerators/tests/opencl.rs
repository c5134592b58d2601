//! Buffers and queues of OpenCL, on each device of a real runtime.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

mod opencl {
    mod conform;
    mod exchange;
    mod loading;
    mod order;
    mod refusals;
}
