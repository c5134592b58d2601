//! USM on a real runtime of SYCL: the protocol in both directions, refusals,
//! order among queues, frees.

#![cfg(target_os = "linux")]

mod oneapi {
    mod exchange;
    mod loading;
    mod order;
    mod refusals;
}
