//! The wheels of the tools and of the template for CPythons without a GIL: built by maturin, and
//! used in an interpreter that has NumPy and pytest, and no other package.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PYTHON_3_14, PYTHON_3_15, Python, home};
use crate::checkout::Outcome;
use crate::context::Context;
use crate::contribute::examples::template_project;
use crate::interpreter::Interpreter;
use crate::quality::wheels;
use crate::report::{Ending, missing};
use crate::run::Stage;
use crate::venv;

/// Imports a module, and requires that the import did not enable the GIL.
const NO_GIL: &str =
    "import importlib, sys; importlib.import_module(sys.argv[1]); assert not sys._is_gil_enabled()";

/// A wheel, and the program that uses it.
struct Wheel {
    folder: PathBuf,
    module: String,
    /// The arguments of Python, in `folder`.
    program: Vec<String>,
    /// Options of maturin.
    options: &'static [&'static str],
}

/// Builds and uses the wheels for the versions that PyO3 of the lock file supports.
pub(super) fn step(context: &Context, stage: &mut Stage) -> Ending {
    for python in [&PYTHON_3_14, &PYTHON_3_15] {
        for_python(python, context, stage)?;
    }
    Ok(())
}

fn for_python(python: &Python, context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let pip = &context.environment(stage)?.interpreter;
    let home = match home(python, pip, checkout, stage) {
        Ok(home) => home,
        Err(reason) => return missing(python.tool, reason),
    };
    let executable = python.executable(&home);
    let maturin = venv::WHEELS.ensure(checkout, Interpreter::find(checkout)?, stage)?;
    let maturin = maturin.programs().join("maturin");
    let place = checkout.target().join("free-threaded/wheels");
    let chosen = chosen(context, &place)?;
    for (build, features) in python.builds {
        let place = place.join(python.version).join(build);
        for wheel in &chosen {
            let mut options = wheel.options.to_vec();
            if !features.is_empty() {
                options.extend(["--features", features]);
            }
            let out = place.join(&wheel.module);
            let target = checkout.target().join("free-threaded/wheels/target");
            let paths = (&*wheel.folder, &*out, &*target);
            let built = wheels::build_wheel(&maturin, &executable, paths, &options, stage)?;
            let modules = place.join("python");
            drop(std::fs::remove_dir_all(modules.join(&wheel.module)));
            // The new interpreter may have been built without zlib.
            let mut unpack = Command::new(&pip.executable);
            unpack.args(["-m", "zipfile", "-e"]).arg(&built).arg(&modules);
            stage.run(&mut unpack)?;
            let path = format!("{}:{}", modules.display(), home.join("packages").display());
            let run = |arguments: &[&str], stage: &mut Stage| {
                let mut command = Command::new(&executable);
                command.current_dir(&wheel.folder).env_remove("PYTHON_GIL");
                stage.run(command.env("PYTHONPATH", &path).args(arguments))
            };
            run(&["-c", NO_GIL, &wheel.module], stage)?;
            let program: Vec<&str> = wheel.program.iter().map(String::as_str).collect();
            run(&program, stage)?;
            let name = built.file_name().unwrap_or_default().to_string_lossy();
            stage.note(&format!("{name}: installs and works"));
        }
    }
    Ok(())
}

/// The tools of this repository, and a project that was made from the template.
fn chosen(context: &Context, place: &Path) -> Outcome<Vec<Wheel>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut chosen = Vec::new();
    for (folder, module) in wheels::tools(&context.checkout)? {
        let program = if folder.join("tests/smoke.py").is_file() {
            words(&["tests/smoke.py"])
        } else {
            words(&["-m", &module, "numpy:from_dlpack", "--only", "shape [-1]"])
        };
        chosen.push(Wheel { folder, module, program, options: &["--locked"] });
    }
    let folder = place.join("my-tensors");
    let module = template_project(&context.checkout, &folder)?.to_owned();
    let program = words(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]);
    chosen.push(Wheel { folder, module, program, options: &[] });
    Ok(chosen)
}
