//! `examples/crates`: a workspace of its own, because its crates need a newer Rust.

use crate::contribute::rust_tests::run_tests;
use crate::contribute::test::Context;
use crate::report::Ending;
use crate::run::{Stage, cargo};

/// Tensor types of other crates have equal addresses before and after.
pub(crate) fn crates(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let mut command = cargo(checkout);
    command
        .env("CARGO_TARGET_DIR", checkout.target().join("crates"))
        // 300 crates without debug information take 0.8 GB.
        .env("CARGO_INCREMENTAL", "0")
        .args(["test", "--locked", "--manifest-path"])
        .arg(checkout.root().join("examples/crates/Cargo.toml"));
    run_tests(stage, &mut command)
}
