//! What each library makes of hostile and odd tensors: `cargo xtask conformance`.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::checkout::{Checkout, Outcome};
use crate::contribute::develop::{self, Build, CONFORMANCE, check_import};
use crate::venv::Packages;

/// Measures all libraries, and writes `docs/generated/conformance.md`. It fails where this
/// project's importer has a finding, or a library is missing.
pub(crate) fn conformance(checkout: &Checkout) -> Outcome<ExitCode> {
    let environment = develop::develop(checkout, Packages::MOST)?;
    develop::announced(checkout, "dlpack_conformance", "built", |stage| {
        let build = Build::of(checkout);
        build.run(checkout, &environment.interpreter, &[CONFORMANCE], stage)?;
        check_import(&mut environment.python(checkout), CONFORMANCE, &build.modules, stage)
    })?;
    println!();
    let mut command = environment.python(checkout);
    command.arg(PathBuf::from_iter(["tests", "python", "conformance", "record.py"])).arg("--write");
    let status = command.status().map_err(|error| {
        format!("{} does not start ({error}).", environment.executable().display())
    })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
