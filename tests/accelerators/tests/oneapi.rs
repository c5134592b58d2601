//! USM on a real runtime of SYCL: the protocol in both directions, refusals,
//! order among queues, frees.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

mod oneapi {
    mod exchange;
    mod loading;
    mod order;
    mod refusals;
}
