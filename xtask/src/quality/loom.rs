//! Models of the owners, from the crate's own sources: every order of threads.

use crate::context::Context;
use crate::contribute::rust_tests::run_tests;
use crate::report::Ending;
use crate::run::{Stage, cargo};

/// A workspace of its own, from the root.
const FOLDER: &str = "quality/loom";

/// The models as tests, and one that is a program.
pub(crate) fn models(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let loom = || {
        let mut command = cargo(checkout);
        command
            .current_dir(checkout.root().join(FOLDER))
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", checkout.target().join("loom"));
        command
    };
    run_tests(stage, loom().args(["test", "--release", "--locked", "--tests"]))?;
    run_tests(stage, loom().args(["run", "--release", "--locked", "--bin=relay"]))
}
