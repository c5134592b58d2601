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

/// Writes a file.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Outcome {
    std::fs::write(path, text)
        .map_err(|error| format!("{} cannot be written ({error}).", path.display()))
}
