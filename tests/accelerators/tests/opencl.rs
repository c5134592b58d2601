//! Buffers and queues of OpenCL, on each device of a real runtime.

#![cfg(target_os = "linux")]

mod opencl {
    mod exchange;
    mod loading;
    mod order;
    mod refusals;
}
