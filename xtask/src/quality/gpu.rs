//! `cargo xtask gpu`: what only a GPU can show.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::Outcome;
use crate::checkout::Checkout;

/// The script, and what it answers where there is no GPU.
const SCRIPT: &str = "tests/devices/gpu/evidence.py";

/// Runs the script with a Python of the user's: PyTorch and CuPy for CUDA are in
/// none of the environments here. It says what it needs, and writes the record.
pub(crate) fn evidence(checkout: &Checkout) -> Outcome<ExitCode> {
    let python = std::env::var_os("DLPACK_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let mut command = Command::new(&python);
    command.current_dir(checkout.root()).arg(SCRIPT);
    let status = command
        .status()
        .map_err(|error| format!("{} does not run ({error}).", python.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
