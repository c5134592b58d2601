//! `examples/template`: a project is made of it, its wheel is built, and that is tested
//! in an environment that has nothing else of this project.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::checkout::Checkout;
use crate::contribute::develop::announced;
use crate::contribute::test::Context;
use crate::interpreter::Interpreter;
use crate::report::Ending;
use crate::run::Stage;
use crate::venv;

/// What the project is called, and its module.
const NAMES: [(&str, &str); 2] =
    [("{{project-name}}", "my-tensors"), ("{{crate_name}}", "my_tensors")];
/// The feature of PyO3 that describes functions and classes in the binary.
const STUBS: &str = "pyo3/experimental-inspect";
/// Fails unless mypy rejects a name that the stub does not have.
const REJECTED: &str = "
import subprocess, sys
code = 'import my_tensors; my_tensors.Image.gradient(1, 1).nothing; my_tensors.nothing'
done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '-c', code], capture_output=True, text=True)
assert done.stdout.count('attr-defined') == 2, done.stdout
";
/// Prints the prefix of the interpreter, and the folder of its library.
const LIBRARY: &str = "
import sys, sysconfig
print(sys.base_prefix, sysconfig.get_config_var('LIBDIR'), sep='\\n')
";
/// What is about the template, and not for the project.
const ABOUT: [&str; 2] = ["cargo-generate.toml", "TEMPLATE.md"];

pub(super) fn run(checkout: &Checkout) -> Outcome {
    announced(checkout, "template", "the wheel is tested", |stage| try_it(checkout, stage))?;
    println!("the project is in {}", project(checkout).display());
    Ok(())
}

pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    Ok(try_it(&context.checkout, stage)?)
}

fn project(checkout: &Checkout) -> PathBuf {
    checkout.target().join("template/my-tensors")
}

fn try_it(checkout: &Checkout, stage: &mut Stage) -> Outcome {
    let interpreter = Interpreter::find(checkout)?;
    let project = project(checkout);
    make(checkout, &project)?;

    let maturin = venv::ensure_maturin(checkout, Interpreter::find(checkout)?, stage)?;
    let maturin = |stage: &mut Stage, command: &[&str], out: &Path| {
        let mut maturin = Command::new(maturin.programs().join("maturin"));
        maturin
            .current_dir(&project)
            .env("CARGO_TERM_COLOR", "never")
            .env_remove("CARGO_MANIFEST_DIR")
            .args(command)
            .args(["--quiet", "--features", STUBS, "--interpreter"])
            .arg(&interpreter.executable)
            .arg("--out")
            .arg(out)
            .arg("--target-dir")
            .arg(checkout.target().join("template/target"));
        stage.run(&mut maturin)
    };
    let place = project.join(".venv");
    stage.run(Command::new(&interpreter.executable).args(["-m", "venv"]).arg(&place))?;
    let python = venv::python_of(&place);
    let install = |stage: &mut Stage, wheels: &Path, more: &[&str]| {
        let mut pip = Command::new(&python);
        pip.current_dir(checkout.root())
            .args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
            .args(["--disable-pip-version-check", "--find-links"])
            .arg(wheels)
            .args(more)
            .arg(NAMES[0].1);
        stage
            .run(&mut pip)
            .map_err(|_| "pip cannot install the new wheel, or what tests it.".to_owned())
    };

    // The stub that PyO3 describes, which the tool completes by what the class has at run time.
    let [untyped, stubs, wheels] =
        ["dist-without-stub", "stubs", "dist"].map(|folder| project.join(folder));
    maturin(stage, &["build"], &untyped)?;
    maturin(stage, &["generate-stubs"], &stubs)?;
    install(stage, &untyped, &["--requirement", "requirements/template.txt"])?;
    let mut complete = Command::new(&python);
    complete
        .current_dir(&project)
        .arg(checkout.root().join("tools/doctor/python/dlpack_doctor/stubs.py"))
        .arg(NAMES[1].1)
        .arg(stubs.join(NAMES[1].1).join("__init__.pyi"))
        .args(["--out", &format!("{}.pyi", NAMES[1].1)]);
    stage.run(&mut complete)?;
    maturin(stage, &["build"], &wheels)?;
    install(stage, &wheels, &["--force-reinstall", "--no-deps"])?;

    let interpreter = python.to_string_lossy();
    for tool in [&["pytest", "-q"][..], &["mypy"], &["pyright", "--pythonpath", &interpreter]] {
        stage.run(Command::new(&python).current_dir(&project).arg("-m").args(tool).arg("tests"))?;
    }
    stage.run(Command::new(&python).current_dir(&project).args(["-c", REJECTED]))?;
    test_in_rust(checkout, &project, &python, stage)?;
    // This environment has mypy.
    let stubs = checkout.root().join("examples/functions/stubs/check.py");
    stage.run(Command::new(&python).arg(stubs))?;
    stage.note("a project of the template: its wheel installs, pytest, mypy and pyright accept it and its stub");
    Ok(())
}

/// `cargo test` links with Python's library.
fn test_in_rust(checkout: &Checkout, project: &Path, python: &Path, stage: &mut Stage) -> Outcome {
    let answer = Command::new(python).args(["-c", LIBRARY]).output();
    let answer = answer.map_err(|error| format!("{} does not run ({error}).", python.display()))?;
    let answer = String::from_utf8_lossy(&answer.stdout);
    let (prefix, folder) = answer.trim().split_once('\n').unwrap_or_default();
    let mut tests = Command::new("cargo");
    tests
        .current_dir(project)
        .env("CARGO_TERM_COLOR", "never")
        .env("PYO3_PYTHON", python)
        .env("PYTHONHOME", prefix)
        .env("LD_LIBRARY_PATH", folder)
        .args(["test", "--quiet", "--target-dir"])
        .arg(checkout.target().join("template/target"));
    stage.run(&mut tests)
}

/// Makes a project of the template that uses the crates of this checkout, and returns the name of
/// its module.
pub(crate) fn make(checkout: &Checkout, project: &Path) -> Outcome<&'static str> {
    drop(std::fs::remove_dir_all(project));
    generate(&checkout.root().join("examples/template"), project)?;
    use_these_crates(checkout, project)?;
    Ok(NAMES[1].1)
}

/// What `cargo generate` does with this template: it replaces two names.
fn generate(from: &Path, to: &Path) -> Outcome {
    let failed = |path: &Path, error| format!("{} cannot be copied ({error}).", path.display());
    std::fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| failed(from, error))? {
        let path = entry.map_err(|error| failed(from, error))?.path();
        let name = named(&path.file_name().unwrap_or_default().to_string_lossy());
        if ABOUT.contains(&name.as_str()) {
            continue;
        }
        let target = to.join(name);
        if path.is_dir() {
            generate(&path, &target)?;
        } else {
            let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
            std::fs::write(&target, named(&text)).map_err(|error| failed(&target, error))?;
        }
    }
    Ok(())
}

fn named(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The project asks for a release of `dlpack-traits`; here it is given this checkout.
fn use_these_crates(checkout: &Checkout, project: &Path) -> Outcome {
    let folder = project.join(".cargo");
    let mut text = String::from("[patch.crates-io]\n");
    for package in ["dlpack-traits", "dlpack-derive"] {
        let path = checkout.root().join(package);
        let line = format!("{package} = {{ path = {:?} }}\n", path.to_string_lossy());
        text += &line;
    }
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("config.toml"), text))
        .map_err(|error| format!("{} cannot be written ({error}).", folder.display()))
}
