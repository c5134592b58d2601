//! What the conformance kit can check on these runtimes: [`assert_lacks`].

use dlpack_traits::backend::testing::Report;

/// The checks of orders are run. A wait for all queues is missing, and graphs are not tested here.
pub fn assert_lacks(report: &Report) {
    let lacks = ["wait for the device", "wait for closed streams", "capture"];
    for check in lacks.into_iter().chain(["work that fails", "shutdown"]) {
        assert!(report.not_run.iter().any(|not_run| not_run.0 == check), "{report}");
    }
    for check in ["order of a stream", "events", "producer before consumer", "zeroed memory"] {
        assert!(report.passed.contains(&check), "{report}");
    }
}
