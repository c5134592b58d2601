//! `examples/coming-from`: a workspace of its own, because its crates need a PyO3 of
//! their own series.

use std::path::PathBuf;

use crate::context::Context;
use crate::contribute::rust_tests::run_tests;
use crate::report::{Ending, Stop};
use crate::run::{Stage, cargo};

/// Run by the environment's Python: what a program that embeds it has to know.
const FACTS: &str = "
import sys, sysconfig
print(sys.base_prefix)
print(sysconfig.get_config_var('LIBDIR') or '')
";

/// What other crates make, and what the derive makes of it, is the same.
pub(crate) fn coming_from(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let environment = context.environment(stage)?;
    let answer = environment.python(checkout).args(["-c", FACTS]).output();
    let answer = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let answer = answer.unwrap_or_default();
    let mut lines = answer.lines();
    let (Some(prefix), Some(libraries)) = (lines.next(), lines.next()) else {
        return Err(Stop::Failed("Python does not say where its library is.".to_owned()));
    };
    let folder: PathBuf = checkout.root().join("examples/coming-from");
    let mut command = cargo(checkout);
    command
        .env("PYO3_PYTHON", environment.executable())
        .env("PYTHONHOME", prefix)
        .env("LD_LIBRARY_PATH", libraries)
        .env("CARGO_TARGET_DIR", checkout.target().join("coming-from"))
        .args(["test", "--locked", "--manifest-path"])
        .arg(folder.join("Cargo.toml"));
    run_tests(stage, &mut command)
}
