//! `examples/template`: a project is made of it, its wheel is built, and that is tested
//! in an environment that has nothing else of this project.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome, read};
use crate::context::Context;
use crate::contribute::develop::announced;
use crate::interpreter::Interpreter;
use crate::report::Ending;
use crate::run::Stage;
use crate::venv;

/// What the project is called, and its module.
const NAMES: [(&str, &str); 2] =
    [("{{project-name}}", "my-tensors"), ("{{crate_name}}", "my_tensors")];
/// The feature that describes functions, classes and the types of arrays in the binary.
const STUBS: &str = "dlpack-traits/stubs";
/// Fails unless mypy rejects names that the stub does not have, and an argument that is no array.
const REJECTED: &str = "
import subprocess, sys
code = 'import my_tensors; my_tensors.Image.gradient(1, 1).nothing; my_tensors.nothing; my_tensors.mean([1])'
done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '-c', code], capture_output=True, text=True)
assert done.stdout.count('attr-defined') == 2, done.stdout
assert done.stdout.count('arg-type') == 1, done.stdout
";
/// The calls of the README, which both type checkers accept in strict mode, and one that they reject.
const FRONT_PAGE: &str = "
import pathlib, subprocess, sys
accepted = '''# pyright: strict
import camera
import numpy as np
from numpy.typing import NDArray

image = camera.black(480, 640)
print(np.from_dlpack(image).shape, np.asarray(image))
sums: NDArray[np.float32] = camera.row_sums(np.zeros((2, 3), np.float32))
camera.halve(sums)
'''
for code, errors in [(accepted, 0), (accepted + 'camera.row_sums([[1.0]])\\n', 1)]:
    pathlib.Path('session.py').write_text(code)
    for tool in [['mypy', '--strict'], ['pyright', '--pythonpath', sys.executable]]:
        done = subprocess.run([sys.executable, '-m', *tool, 'session.py'], capture_output=True, text=True)
        assert done.stdout.count(' error: ') == errors, done.stdout
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

    let maturin = venv::WHEELS.ensure(checkout, Interpreter::find(checkout)?, stage)?;
    let maturin = |stage: &mut Stage, project: &Path, command: &[&str], out: &Path| {
        let mut maturin = Command::new(maturin.programs().join("maturin"));
        maturin
            .current_dir(project)
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
    let install = |stage: &mut Stage, what: &[&str]| {
        let mut pip = Command::new(&python);
        pip.current_dir(checkout.root())
            .args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
            .arg("--disable-pip-version-check")
            .args(what);
        stage
            .run(&mut pip)
            .map_err(|_| "pip cannot install the new wheel, or what tests it.".to_owned())
    };
    // The stub that PyO3 describes, which the tool completes by what the classes have at run time.
    let stub = |stage: &mut Stage, project: &Path, name: &str, out: &Path| -> Outcome {
        let folder = checkout.target().join("template/stubs").join(name);
        maturin(stage, project, &["generate-stubs"], &folder)?;
        let library = checkout.target().join(format!("template/target/maturin/lib{name}.so"));
        std::fs::copy(&library, folder.join(format!("{name}.so")))
            .map_err(|error| format!("{} cannot be copied ({error}).", library.display()))?;
        let mut complete = Command::new(&python);
        complete
            .env("PYTHONPATH", &folder)
            .arg(checkout.root().join("tools/doctor/python/dlpack_doctor/stubs.py"))
            .arg(name)
            .arg(folder.join(name).join("__init__.pyi"))
            .arg("--out")
            .arg(out);
        stage.run(&mut complete)
    };
    let wheels = project.join("dist");
    install(stage, &["--requirement", "requirements/template.txt"])?;
    stub(stage, &project, NAMES[1].1, &project.join(format!("{}.pyi", NAMES[1].1)))?;
    maturin(stage, &project, &["build"], &wheels)?;
    install(stage, &["--no-index", "--find-links", &wheels.to_string_lossy(), NAMES[0].1])?;

    let interpreter = python.to_string_lossy();
    for tool in [&["pytest", "-q"][..], &["mypy"], &["pyright", "--pythonpath", &interpreter]] {
        stage.run(Command::new(&python).current_dir(&project).arg("-m").args(tool).arg("tests"))?;
    }
    stage.run(Command::new(&python).current_dir(&project).args(["-c", REJECTED]))?;
    test_in_rust(checkout, &project, &python, stage)?;

    // Of two more modules, in the environment that has mypy.
    let functions = checkout.root().join("examples/functions");
    let generated = checkout.target().join("template/stubs/array_functions.pyi");
    stub(stage, &functions, "array_functions", &generated)?;
    expect_equal(&generated, &functions.join("stubs/array_functions/__init__.pyi"))?;
    stage.run(Command::new(&python).arg(functions.join("stubs/check.py")))?;
    let front_page = checkout.target().join("template/camera");
    camera(checkout, &front_page)?;
    stub(stage, &front_page, "camera", &front_page.join("camera.pyi"))?;
    stage.run(Command::new(&python).current_dir(&front_page).args(["-c", FRONT_PAGE]))?;
    stage.note(
        "a project of the template: its wheel installs, pytest, mypy and pyright accept it and its \
         stub, and those of the README's module and of examples/functions",
    );
    Ok(())
}

/// Compares a generated stub with the one of the repository, or writes it there.
fn expect_equal(generated: &Path, kept: &Path) -> Outcome {
    let text = |path: &Path| read(path);
    if std::env::var_os("DLPACK_BLESS").is_some() {
        std::fs::copy(generated, kept)
            .map_err(|error| format!("{} cannot be written ({error}).", kept.display()))?;
    }
    if text(generated)? == text(kept)? {
        return Ok(());
    }
    Err(format!(
        "{} is not the generated stub: run `DLPACK_BLESS=1 cargo xtask example template`.",
        kept.display()
    ))
}

/// Makes a project of the first block of Rust in the README.
fn camera(checkout: &Checkout, project: &Path) -> Outcome {
    let failed = |error| format!("the project {} cannot be made ({error}).", project.display());
    let readme = std::fs::read_to_string(checkout.root().join("README.md")).map_err(failed)?;
    let code = readme.split("```").find_map(|block| block.strip_prefix("rust,"));
    let (_, code) = code.and_then(|code| code.split_once('\n')).ok_or("README.md has no code.")?;
    let manifest = checkout.root().join("examples/template/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).map_err(failed)?;
    let manifest = NAMES.iter().fold(manifest, |text, (name, _)| text.replace(name, "camera"));
    std::fs::create_dir_all(project.join("src")).map_err(failed)?;
    std::fs::write(project.join("Cargo.toml"), manifest).map_err(failed)?;
    std::fs::write(project.join("src/lib.rs"), code).map_err(failed)?;
    use_these_crates(checkout, project)
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
