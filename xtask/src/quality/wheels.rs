//! The wheels of the Python tools: built by maturin, installed where nothing else
//! is, tried there, and then tested beside all libraries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::checkout::{Checkout, Outcome};
use crate::context::{self, Context};
use crate::contribute::{matrix, python_tests};
use crate::interpreter::Interpreter;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};

/// `cargo xtask wheels`, with the libraries that the environment in use has.
pub(crate) fn wheels(checkout: Checkout) -> Outcome<ExitCode> {
    let steps: [context::Step; 2] =
        [("python environment", context::python_environment), ("wheels", step)];
    context::run(checkout, &steps, Packages::Base)
}

/// A Python package with a Rust module in it.
struct Tool {
    /// Its folder in `tools/`.
    folder: PathBuf,
    /// The name that Python imports.
    module: String,
    /// Its wheel.
    wheel: PathBuf,
}

impl Tool {
    /// The folder of its tests.
    fn tests(&self) -> PathBuf {
        self.folder.join("tests")
    }
}

/// Builds each tool, tries it in a clean environment, and runs its tests.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let environment = context.environment(stage)?;
    let checkout = &context.checkout;
    let tools = build(checkout, &environment.interpreter, stage)?;
    for tool in &tools {
        try_clean(checkout, &environment.interpreter, tool, stage)?;
        stage.note(&format!("{} works where nothing else is installed", tool.module));
        unpack(checkout, environment, tool, stage)?;
        let required = environment.required("");
        run_tests(checkout, environment, &required, &tool.tests(), stage)?;
        let verdicts = tool.tests().join("test_verdicts.py");
        if !verdicts.exists() {
            continue;
        }
        if let Some(newest) = matrix::newest_of(context, stage)? {
            run_tests(checkout, newest, newest.required_there(), &verdicts, stage)?;
        }
    }
    Ok(())
}

/// The folders in `tools/` that make a wheel.
fn folders(checkout: &Checkout) -> Outcome<Vec<PathBuf>> {
    let tools = checkout.root().join("tools");
    let entries = std::fs::read_dir(&tools)
        .map_err(|error| format!("{} cannot be read ({error}).", tools.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("pyproject.toml").is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// The tools that make a wheel: the folder and the module of each.
pub(crate) fn tools(checkout: &Checkout) -> Outcome<Vec<(PathBuf, String)>> {
    let folders = folders(checkout)?.into_iter();
    folders.map(|folder| module_of(&folder).map(|module| (folder, module))).collect()
}

fn build(checkout: &Checkout, interpreter: &Interpreter, stage: &mut Stage) -> Outcome<Vec<Tool>> {
    let maturin = venv::WHEELS.ensure(checkout, Interpreter::find(checkout)?, stage)?;
    let maturin = maturin.programs().join("maturin");
    let target = checkout.target().join("wheels/target");
    let mut built = Vec::new();
    for (folder, module) in tools(checkout)? {
        let out = wheels_folder(checkout).join(folder.file_name().unwrap_or_default());
        let paths = (&*folder, &*out, &*target);
        let wheel = build_wheel(&maturin, &interpreter.executable, paths, &["--locked"], stage)?;
        built.push(Tool { folder, module, wheel });
    }
    Ok(built)
}

/// Builds the wheel of a project for an interpreter. The paths are the folder of the project, the
/// folder of the wheel, and the folder of the build's files.
pub(crate) fn build_wheel(
    maturin: &Path,
    interpreter: &Path,
    (project, out, target): (&Path, &Path, &Path),
    options: &[&str],
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    // A wheel that an older version left there must not be mistaken for the new one.
    drop(std::fs::remove_dir_all(out));
    let mut command = Command::new(maturin);
    command
        .current_dir(project)
        .env("CARGO_TERM_COLOR", "never")
        .env_remove("CARGO_MANIFEST_DIR")
        .args(["build", "--release", "--quiet", "--interpreter"])
        .arg(interpreter)
        .arg("--out")
        .arg(out)
        .arg("--target-dir")
        .arg(target)
        .args(options);
    stage.run(&mut command)?;
    only_wheel(out)
}

fn wheels_folder(checkout: &Checkout) -> PathBuf {
    checkout.target().join("wheels")
}

fn only_wheel(folder: &Path) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut wheels = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    match (wheels.next(), wheels.next()) {
        (Some(wheel), None) => Ok(wheel),
        _ => Err(format!("there is not one wheel in {}.", folder.display())),
    }
}

/// The one package in the tool's folder `python`.
fn module_of(tool: &Path) -> Outcome<String> {
    let entries = std::fs::read_dir(tool.join("python")).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.join("__init__.py").is_file())
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .ok_or_else(|| format!("there is no package in {}/python.", tool.display()))
}

/// Installs the wheel into an environment with NumPy alone, far from the sources,
/// and runs the tool's `tests/smoke.py` there; without one, its `--help`.
fn try_clean(
    checkout: &Checkout,
    interpreter: &Interpreter,
    tool: &Tool,
    stage: &mut Stage,
) -> Outcome {
    let place = wheels_folder(checkout).join(format!("clean-{}", tool.module));
    stage.run(Command::new(&interpreter.executable).args(["-m", "venv", "--clear"]).arg(&place))?;
    let python = venv::python_of(&place);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
        .args(["--disable-pip-version-check", "--constraint", "requirements/base.txt", "numpy"])
        .arg(&tool.wheel)
        .current_dir(checkout.root());
    stage.run(&mut pip).map_err(|_| {
        format!(
            "pip cannot install {} (see {}); check the network.",
            tool.wheel.display(),
            stage.log_path().display()
        )
    })?;
    let smoke = tool.tests().join("smoke.py");
    let mut command = Command::new(&python);
    command.current_dir(&place).env_remove("PYTHONPATH").arg("-I");
    if smoke.is_file() {
        command.arg(smoke);
    } else {
        command.args(["-m", &tool.module, "--help"]);
    }
    stage.run(&mut command)
}

/// The folder of the wheels' contents. It is not that of the modules of this checkout, which other
/// steps use at the same time.
fn unpacked(checkout: &Checkout) -> PathBuf {
    wheels_folder(checkout).join("unpacked")
}

/// Unpacks the wheel of a tool.
fn unpack(
    checkout: &Checkout,
    environment: &Environment,
    tool: &Tool,
    stage: &mut Stage,
) -> Outcome {
    let folder = unpacked(checkout);
    // Removes the old version first: its files may have other names.
    drop(std::fs::remove_dir_all(folder.join(&tool.module)));
    let mut unzip = environment.python(checkout);
    unzip.args(["-m", "zipfile", "-e"]).arg(&tool.wheel).arg(&folder);
    stage.run(&mut unzip)?;
    // maturin writes the list of the crates in the wheel (CycloneDX).
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let has_list = |entry: std::fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with(&format!("{}-", tool.module))
            && entry.path().join("sboms").is_dir()
    };
    if entries.into_iter().any(has_list) {
        return Ok(());
    }
    Err(format!("{} has no list of its crates (sboms).", tool.wheel.display()))
}

/// Runs the tests of a tool; tests of required libraries must not be skipped.
fn run_tests(
    checkout: &Checkout,
    environment: &Environment,
    required: &str,
    tests: &Path,
    stage: &mut Stage,
) -> Ending {
    if !has_tests(tests) {
        return Ok(());
    }
    let mut command = python_tests::pytest_of(checkout, environment);
    let tests = tests.strip_prefix(checkout.root()).unwrap_or(tests);
    command
        .env("PYTHONPATH", unpacked(checkout))
        .env("DLPACK_REQUIRE", required)
        .args(python_tests::PARALLEL)
        .arg(tests);
    stage.run(&mut command).map_err(|_| {
        Stop::Failed(format!(
            "{} failed; all they said is in {}.",
            tests.display(),
            stage.log_path().display()
        ))
    })
}

/// Whether the path is a file, or a folder with tests.
fn has_tests(folder: &Path) -> bool {
    if folder.is_file() {
        return true;
    }
    let is_test = |name: OsString| name.to_string_lossy().starts_with("test_");
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| is_test(entry.file_name()))
}
