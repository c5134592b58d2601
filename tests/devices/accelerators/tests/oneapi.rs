//! USM on a real SYCL runtime: exports, imports, refusals, ordering between queues,
//! frees.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

mod oneapi {
    mod conform;
    mod exchange;
    mod loading;
    mod order;
    mod refusals;
}
