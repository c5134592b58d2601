//! Test programs on `wasm32-unknown-unknown`, which Node.js runs.

use std::path::Path;
use std::process::Command;

use crate::checkout::root;
use crate::command::{answer_of, executables};
use crate::context::Context;
use crate::outcome::{Ending, need};
use crate::tools;

/// Programs without threads, and without tests that catch a panic: a panic ends the program there.
/// `derive` and `export` leave out the modules with such tests.
const PROGRAMS: &[&str] = &["bounds", "derive", "exchange_full", "export"];
/// Runs the test harness of a program. It has no standard output; a test that fails ends the
/// program, and the functions on its stack, which name the test, are printed.
const RUN: &str = r#"
Error.stackTraceLimit = 40;
const module = new WebAssembly.Module(require("node:fs").readFileSync(process.argv[1]));
process.exit(new WebAssembly.Instance(module, {}).exports.main(0, 0));
"#;

/// Builds the programs, and runs each.
pub(crate) fn run(context: &Context) -> Ending {
    let node = answer_of("node", &["--version"]);
    need(node.is_some(), "wasm32", "Node.js, which runs WebAssembly, is not installed")?;
    let line = "test --no-run --package=dlpack-tests --package=dlpack-traits \
                --features=dlpack-traits/derive,dlpack-traits/half";
    let triple = "wasm32-unknown-unknown";
    let parts = "std,panic_abort";
    let mut command = tools::cargo_for(context, triple, "wasm32", parts, line)?;
    command.args(PROGRAMS.iter().map(|name| format!("--test={name}")));
    let output = context.output_of(&mut command)?;
    let programs = executables(&output);
    if programs.len() != PROGRAMS.len() {
        let (built, all) = (programs.len(), PROGRAMS.len());
        return Err(format!("cargo built {built} of {all} programs.").into());
    }
    let job = |path: &&str| {
        let mut command = Command::new("node");
        command.current_dir(root()).args(["--eval", RUN, path]);
        (Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned(), command)
    };
    context.run_all(programs.iter().map(job).collect())?;
    context.note(format!("{} test programs ended well", PROGRAMS.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modules whose `main` returns 0, returns 1, and traps.
    #[test]
    fn a_program_that_fails_is_noticed() {
        if Command::new("node").arg("--version").output().is_err() {
            return;
        }
        let ends: [(&[u8], bool); 3] =
            [(&[0x41, 0, 0x0b], true), (&[0x41, 1, 0x0b], false), (&[0x00, 0x0b], false)];
        for (index, (code, expected)) in ends.into_iter().enumerate() {
            // The header; a type (i32, i32) -> i32; a function of it; its export; its code.
            let mut module = b"\0asm\x01\0\0\0\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f".to_vec();
            module.extend(b"\x03\x02\x01\0\x07\x08\x01\x04main\0\0");
            let len = u8::try_from(code.len()).unwrap();
            module.extend([0x0a, len + 3, 1, len + 1, 0]);
            module.extend(code);
            let name = format!("dlpack-wasm-{}-{index}.wasm", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, module).unwrap();
            let output = Command::new("node").args(["--eval", RUN]).arg(&path).output().unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(output.status.success(), expected, "{output:?}");
        }
    }
}
