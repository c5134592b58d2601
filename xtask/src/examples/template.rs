//! `examples/template`: a project is made of it, its wheel is built, and that is tested
//! in an environment that has nothing else of this project.

use std::path::Path;
use std::process::Command;

use crate::checkout::{copy_file, read, root, target};
use crate::checks::wheels::{make_project, make_template_project, maturin, new_environment};
use crate::command::Words as _;
use crate::context::Context;
use crate::environment::pip;
use crate::interpreter::Interpreter;
use crate::outcome::{Ending, Outcome};

/// Fails unless mypy rejects names that the stub does not have, and an argument that is not an array.
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
/// The environment of the project has the packages that test it.
const PACKAGES: &str = "--requirement requirements/template.txt";

pub(super) fn run(context: &Context) -> Ending {
    let project = target("template/my-tensors");
    let module = make_template_project(&project)?;
    let python = new_environment(context, &project.join(".venv"))?;
    let in_project = |arguments: &[&str]| {
        context.run(Command::new(&python).current_dir(&project).args(arguments))
    };
    context.run(&mut pip(&python, PACKAGES))?;
    let stub =
        |project: &Path, name: &str, out: &Path| make_stub(context, project, name, out, &python);
    stub(&project, module, &project.join(format!("{module}.pyi")))?;
    let wheels = project.join("dist");
    with_maturin(context, &project, "build", &wheels)?;
    context.run(pip(&python, "--no-index my-tensors --find-links").arg(&wheels))?;

    in_project(&["-m", "pytest", "-q", "tests"])?;
    in_project(&["-m", "mypy", "tests"])?;
    in_project(&["-m", "pyright", "--pythonpath", &python.to_string_lossy(), "tests"])?;
    in_project(&["-c", REJECTED])?;
    // `cargo test` links with Python's library.
    let interpreter = Interpreter::find()?;
    let mut tests = Command::new("cargo");
    tests
        .words("CARGO_TERM_COLOR=never test --quiet")
        .current_dir(&project)
        .builds_in("template/target")
        .env("PYO3_PYTHON", &python)
        .env("PYTHONHOME", &interpreter.prefix)
        .env("LD_LIBRARY_PATH", &interpreter.libraries);
    context.run(&mut tests)?;

    // Stubs of two more modules, in the environment that has mypy.
    let functions = root().join("examples/functions");
    let generated = target("template/stubs/array_functions.pyi");
    stub(&functions, "array_functions", &generated)?;
    let kept = functions.join("stubs/array_functions/__init__.pyi");
    if std::env::var_os("DLPACK_BLESS").is_some() {
        copy_file(&generated, &kept)?;
    }
    if read(&generated)? != read(&kept)? {
        let advice = "run `DLPACK_BLESS=1 cargo xtask example template`";
        return Err(format!("{} is not the generated stub: {advice}.", kept.display()).into());
    }
    context.run(Command::new(&python).arg(functions.join("stubs/check.py")))?;

    // The first block of Rust in the README.
    let readme = read(&root().join("README.md"))?;
    let code = readme.split("```").find_map(|block| block.strip_prefix("rust,"));
    let (_, code) = code.and_then(|code| code.split_once('\n')).ok_or("README.md has no code.")?;
    let front_page = target("template/camera");
    make_project(&front_page, "camera", code)?;
    stub(&front_page, "camera", &front_page.join("camera.pyi"))?;
    context.run(Command::new(&python).current_dir(&front_page).args(["-c", FRONT_PAGE]))?;
    context.note(
        "a project of the template: its wheel installs, pytest, mypy and pyright accept it and its \
         stub, and those of the README's module and of examples/functions",
    );
    context.note(format!("the project is in {}", project.display()));
    Ok(())
}

/// Runs maturin with the feature that describes functions, classes and the types of arrays in the
/// binary.
fn with_maturin(context: &Context, project: &Path, command: &str, out: &Path) -> Outcome {
    let line = format!("{command} --quiet --features dlpack-traits/stubs");
    let mut maturin = maturin(context, project, &Interpreter::find()?.executable, &line)?;
    maturin.arg("--target-dir").arg(target("template/target"));
    context.run(maturin.arg("--out").arg(out))
}

/// Writes the stub that PyO3 describes; a tool adds the methods that classes have at run time.
fn make_stub(context: &Context, project: &Path, name: &str, out: &Path, python: &Path) -> Outcome {
    let folder = target("template/stubs").join(name);
    with_maturin(context, project, "generate-stubs", &folder)?;
    let library = target(format!("template/target/maturin/lib{name}.so"));
    copy_file(&library, &folder.join(format!("{name}.so")))?;
    let mut complete = Command::new(python);
    complete.arg(root().join("tools/doctor/python/dlpack_doctor/stubs.py")).arg(name);
    complete.arg(folder.join(name).join("__init__.pyi")).arg("--out").arg(out);
    context.run(complete.env("PYTHONPATH", &folder))
}
