//! Test programs on `wasm32-unknown-unknown`, which Node.js runs.

use std::path::PathBuf;
use std::process::Command;

use crate::context::Context;
use crate::quality::miri;
use crate::quality::nightly::TOOLCHAIN;
use crate::report::{Ending, Stop, missing};
use crate::run::queue::Job;
use crate::run::{Stage, answer_of, cargo, cargo_of};

const TARGET: &str = "wasm32-unknown-unknown";
/// Programs without threads, and without tests that catch a panic: a panic ends the program there.
const PROGRAMS: &[&str] = &[
    "agreement",
    "bounds",
    "derive_data_type",
    "derive_element",
    "derive_element_types",
    "derive_items",
    "derive_listed_shapes",
    "derive_listed_strides",
    "derive_nested_layout",
    "derive_offsets",
    "derive_property",
    "derive_steps",
    "derive_storage",
    "exchange_full",
    "wrapped",
    "wrappings",
];
/// Runs the test harness of a program. It has no standard output; a test that fails ends the
/// program, and the functions on its stack, which name the test, are printed.
const RUN: &str = r#"
Error.stackTraceLimit = 40;
const module = new WebAssembly.Module(require("node:fs").readFileSync(process.argv[1]));
process.exit(new WebAssembly.Instance(module, {}).exports.main(0, 0));
"#;

/// Builds the programs, and runs each.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if answer_of("node", &["--version"]).is_none() {
        return missing("wasm32", "Node.js, which runs WebAssembly, is not installed".to_owned());
    }
    let installed = answer_of("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    let mut build = if installed.lines().any(|target| target == TARGET) {
        cargo(&context.checkout)
    } else if let Err(reason) = miri::install(stage) {
        let advice = format!("rustup target add {TARGET}");
        return missing("wasm32", format!("{TARGET} is not installed ({advice}), and {reason}"));
    } else {
        // Miri needs the same sources.
        let mut nightly = cargo_of(&context.checkout, TOOLCHAIN);
        nightly.arg("-Zbuild-std=std,panic_abort");
        nightly
    };
    build.args(["test", "--no-run", "--target", TARGET, "--package=dlpack-tests"]);
    build.args(["--package=dlpack-traits", "--features=dlpack-traits/derive,dlpack-traits/half"]);
    build.args(PROGRAMS.iter().map(|name| format!("--test={name}")));
    let before = stage.log_length()?;
    stage.run(&mut build)?;
    let programs: Vec<PathBuf> =
        stage.logged_since(before).lines().filter_map(executable).collect();
    if programs.len() != PROGRAMS.len() {
        let sentence = format!("cargo built {} of {} programs.", programs.len(), PROGRAMS.len());
        return Err(Stop::Failed(sentence));
    }
    let jobs = programs.into_iter().map(|path| {
        let mut command = Command::new("node");
        command.current_dir(context.checkout.root()).args(["--eval", RUN]).arg(&path);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Job { name, command }
    });
    stage.run_all(jobs.collect())?;
    stage.note(&format!("{} test programs ended well", PROGRAMS.len()));
    Ok(())
}

/// The path in a line `Executable tests/import.rs (target/wasm32/debug/deps/import-01.wasm)`.
fn executable(line: &str) -> Option<PathBuf> {
    let (_, path) = line.trim_start().strip_prefix("Executable ")?.split_once(" (")?;
    Some(PathBuf::from(path.strip_suffix(')')?))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::{PROGRAMS, RUN, executable};

    #[test]
    fn the_path_of_a_program_is_in_parentheses() {
        let line = "  Executable rust/bounds.rs (target/wasm32/debug/deps/bounds-68.wasm)";
        assert_eq!(
            executable(line),
            Some(PathBuf::from("target/wasm32/debug/deps/bounds-68.wasm"))
        );
        assert_eq!(executable("   Compiling dlpack-tests"), None);
    }

    /// A program that was renamed must be renamed in the list.
    #[test]
    fn the_programs_exist() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rust");
        for name in PROGRAMS {
            assert!(tests.join(format!("{name}.rs")).exists(), "{name}");
        }
    }

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
