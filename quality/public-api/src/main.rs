//! Prints the public interface of a crate, a line for each item, from the JSON that
//! rustdoc writes for it. Hidden, derived and blanket implementations are left out.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(json) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("call `cargo xtask api`.");
        return ExitCode::from(2);
    };
    let builder = public_api::Builder::from_rustdoc_json(json);
    let builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true);
    match builder.omit_auto_derived_impls(true).build() {
        Ok(interface) => {
            print!("{interface}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
