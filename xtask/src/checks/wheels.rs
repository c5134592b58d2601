//! The wheels of the Python tools: built by maturin, installed where nothing else
//! is, tried there, and then tested beside all libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::python::PARALLEL;
use crate::checkout::{entry, files_below, has_extension, read, root, target, write};
use crate::command::Words as _;
use crate::context::Context;
use crate::environment::{self, Environment, WHEELS, pip, python_of};
use crate::outcome::{Ending, Outcome};
use crate::stage::Stage;

/// A Python package with a Rust module in it.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its folder in `tools/`.
    pub(crate) folder: PathBuf,
    /// The name that Python imports.
    pub(crate) module: &'static str,
}

/// The tools that make a wheel.
pub(crate) fn tools() -> [Tool; 2] {
    [("conformance", "dlpack_conformance"), ("doctor", "dlpack_doctor")]
        .map(|(folder, module)| Tool { folder: root().join("tools").join(folder), module })
}

/// Builds each tool, tries it in a clean environment, and runs its tests.
pub(crate) fn run(context: &Context) -> Ending {
    let environment = context.environment()?;
    let place = target("wheels");
    let unpacked = place.join("unpacked");
    // The lists of crates of older wheels have other names.
    drop(std::fs::remove_dir_all(&unpacked));
    for tool in tools() {
        let out = place.join(tool.folder.file_name().unwrap_or_default());
        let python = &environment.interpreter.executable;
        let paths = [&tool.folder, &out, &place.join("target")];
        let wheel = build_wheel(context, python, paths, "--locked")?;
        try_clean(context, &tool, &wheel)?;
        context.note(format!("{} works where nothing else is installed", tool.module));
        // The folder is not that of the modules of this checkout, which other steps use at the
        // same time.
        unpack(context, python, &wheel, &unpacked, tool.module)?;
        let list = entry(&unpacked, &format!("{}-", tool.module))?.join("sboms");
        if !list.is_dir() {
            return Err(format!("{} has no list of its crates (sboms).", wheel.display()).into());
        }
        let tests = tool.folder.join("tests");
        // Those of the other tool are in `tests/python/conformance`.
        if tests.is_dir() {
            run_tests(context, environment, &tests, &unpacked)?;
            if let Some(newest) = context.newest()? {
                run_tests(context, newest, &tests.join("test_verdicts.py"), &unpacked)?;
            }
        }
    }
    Ok(())
}

/// Builds the wheel of a project for an interpreter. The paths are the folder of the project, the
/// folder of the wheel, and the folder of the build's files.
pub(crate) fn build_wheel(
    stage: &Stage,
    interpreter: &Path,
    [project, out, target]: [&PathBuf; 3],
    options: &str,
) -> Outcome<PathBuf> {
    // A wheel that an older version left there must not be mistaken for the new one.
    drop(std::fs::remove_dir_all(out));
    let mut command = maturin(stage, project, interpreter, "build --release --quiet")?;
    command.arg("--out").arg(out).arg("--target-dir").arg(target).words(options);
    stage.run(&mut command)?;
    let mut files = files_below(out)?;
    match (files.pop(), files.pop()) {
        (Some(wheel), None) if has_extension(&wheel, "whl") => Ok(wheel),
        _ => Err(format!("there is not one wheel in {}.", out.display())),
    }
}

/// maturin in the folder of a project, for an interpreter.
pub(crate) fn maturin(
    stage: &Stage,
    project: &Path,
    interpreter: &Path,
    line: &str,
) -> Outcome<Command> {
    let environment = environment::ensure(stage, &WHEELS)?;
    let mut command = Command::new(environment.programs().join("maturin"));
    command.current_dir(project).env("CARGO_TERM_COLOR", "never").env_remove("CARGO_MANIFEST_DIR");
    command.words(line).arg("--interpreter").arg(interpreter);
    Ok(command)
}

/// Unpacks a wheel, after the module of an older one, whose files may have other names. The
/// interpreter is not one that was built here, perhaps without zlib.
pub(crate) fn unpack(
    stage: &Stage,
    python: &Path,
    wheel: &Path,
    to: &Path,
    module: &str,
) -> Outcome {
    drop(std::fs::remove_dir_all(to.join(module)));
    stage.run(Command::new(python).args(["-m", "zipfile", "-e"]).arg(wheel).arg(to))
}

/// Makes a virtual environment, and returns its Python.
pub(crate) fn new_environment(context: &Context, place: &Path) -> Ending<PathBuf> {
    let mut venv = Command::new(&context.environment()?.interpreter.executable);
    context.run(venv.args(["-m", "venv", "--clear"]).arg(place))?;
    Ok(python_of(place))
}

/// Installs the wheel into an environment with NumPy alone, far from the sources,
/// and runs the tool's `tests/smoke.py` there; without one, its `--help`.
fn try_clean(context: &Context, tool: &Tool, wheel: &Path) -> Ending {
    let place = target("wheels").join(format!("clean-{}", tool.module));
    let python = new_environment(context, &place)?;
    context.run(pip(&python, "--constraint requirements/base.txt numpy").arg(wheel))?;
    let smoke = tool.folder.join("tests/smoke.py");
    let mut command = Command::new(&python);
    command.current_dir(&place).env_remove("PYTHONPATH").arg("-I");
    if smoke.is_file() {
        command.arg(smoke);
    } else {
        command.args(["-m", tool.module, "--help"]);
    }
    Ok(context.run(&mut command)?)
}

fn run_tests(
    context: &Context,
    environment: &Environment,
    tests: &Path,
    unpacked: &Path,
) -> Ending {
    let tests = tests.strip_prefix(root()).unwrap_or(tests);
    let mut command = environment.pytest("", PARALLEL);
    Ok(context.run(command.env("PYTHONPATH", unpacked).arg(tests))?)
}

/// The name of a new project, and that of its module.
const NAMES: [(&str, &str); 2] =
    [("{{project-name}}", "my-tensors"), ("{{crate_name}}", "my_tensors")];

/// Makes a project of `examples/template` that uses the crates of this checkout, and returns the name
/// of its module: what `cargo generate` does with a template is to replace two names.
pub(crate) fn make_template_project(project: &Path) -> Outcome<&'static str> {
    drop(std::fs::remove_dir_all(project));
    let template = root().join("examples/template");
    let named =
        |text: &str| NAMES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    for path in files_below(&template)? {
        let name = path.strip_prefix(&template).unwrap_or(&path).to_string_lossy();
        // Files about the template are not for the project.
        if !["cargo-generate.toml", "TEMPLATE.md"].contains(&&*name) {
            write(&project.join(named(&name)), named(&read(&path)?))?;
        }
    }
    use_these_crates(project)?;
    Ok(NAMES[1].1)
}

/// Makes a project with the manifest of the template and one source file.
pub(crate) fn make_project(project: &Path, name: &str, code: &str) -> Outcome {
    let manifest = read(&root().join("examples/template/Cargo.toml"))?;
    let manifest = NAMES.iter().fold(manifest, |text, (from, _)| text.replace(from, name));
    write(&project.join("Cargo.toml"), manifest)?;
    write(&project.join("src/lib.rs"), code)?;
    use_these_crates(project)
}

/// The project requires a release of `dlpack-traits`; here it gets this checkout.
fn use_these_crates(project: &Path) -> Outcome {
    let line = |package: &str| {
        format!("{package} = {{ path = {:?} }}\n", root().join(package).to_string_lossy())
    };
    let text = ["[patch.crates-io]\n", &line("dlpack-traits"), &line("dlpack-derive")].concat();
    write(&project.join(".cargo/config.toml"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_with_a_wheel_is_tested() {
        for tool in tools() {
            assert!(tool.folder.join("python").join(tool.module).join("__init__.py").is_file());
        }
        let folders = std::fs::read_dir(root().join("tools")).expect("tools").flatten();
        let has_wheel = |folder: &std::fs::DirEntry| folder.path().join("pyproject.toml").is_file();
        assert_eq!(folders.filter(has_wheel).count(), tools().len());
    }
}
