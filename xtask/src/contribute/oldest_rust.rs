//! The oldest Rust that the workspace promises, from rustup or from the system's packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo, cargo_of};
use crate::system::exclusively;
use crate::venv;

/// `rust-version` of the workspace.
const OLDEST: &str = "1.85";
/// All features but `cudarc`: that crate needs a later Rust.
const FEATURES: &str = "--features=dlpack-traits/bytes,dlpack-traits/cuda,\
    dlpack-traits/derive,dlpack-traits/half,dlpack-traits/memmap2,dlpack-traits/ndarray,\
    dlpack-traits/ndarray_0_16,dlpack-traits/oneapi,dlpack-traits/opencl,dlpack-traits/pyo3,dlpack-traits/rayon,dlpack-traits/rocm,\
    dlpack-traits/std,dlpack-traits/vulkan,dlpack-traits/webgpu";
/// Unpacks the compiler of Debian's packages.
const SCRIPT: &str = "quality/oldest-rust.sh";

/// The published crates build with the oldest Rust they promise.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let checkout = &context.checkout;
    let mut command = if answer_of("rustup", &["run", OLDEST, "rustc", "--version"]).is_some() {
        cargo_of(checkout, OLDEST)
    } else {
        match unpacked(checkout, stage) {
            Ok(compiler) => compiler.cargo(checkout),
            Err(reason) => {
                return missing(
                    "msrv",
                    format!(
                        "Rust {OLDEST} is not installed (rustup toolchain install {OLDEST} \
                             --profile minimal), and in no package of the system: {reason}"
                    ),
                );
            }
        }
    };
    let environment = context.environment(stage)?;
    command
        .env("PYO3_PYTHON", &environment.interpreter.executable)
        .args(["check", "--package=dlpack-traits", "--package=dlpack-derive"])
        .arg(FEATURES)
        .arg("--target-dir")
        .arg(checkout.target().join("oldest-rust"));
    Ok(stage.run(&mut command)?)
}

/// A compiler that is not installed, in a folder.
struct Compiler {
    rustc: PathBuf,
    /// The folder of its shared libraries.
    libraries: PathBuf,
}

impl Compiler {
    /// The compiler in the root of unpacked packages.
    fn of(root: &Path) -> Outcome<Self> {
        let absent = || format!("{} has no compiler", root.display());
        let folders = std::fs::read_dir(root.join("usr/lib")).map_err(|_| absent())?;
        let with_driver = |folder: &PathBuf| {
            let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().starts_with("librustc_driver"))
        };
        let mut folders = folders.flatten().map(|entry| entry.path());
        let libraries = folders.find(with_driver).ok_or_else(absent)?;
        Ok(Self { rustc: root.join("usr/bin/rustc"), libraries })
    }

    /// `cargo` of the current toolchain, with this compiler.
    fn cargo(&self, checkout: &Checkout) -> Command {
        let mut command = cargo(checkout);
        command.env("RUSTC", &self.rustc).env("LD_LIBRARY_PATH", &self.libraries);
        command
    }
}

/// The compiler of Debian's packages, in the folder for caches.
fn unpacked(checkout: &Checkout, stage: &mut Stage) -> Outcome<Compiler> {
    let cache = venv::cache_folder(checkout, stage);
    let place = cache.join(format!("rust-{OLDEST}"));
    if let Ok(compiler) = Compiler::of(&place) {
        return Ok(compiler);
    }
    std::fs::create_dir_all(&cache)
        .map_err(|error| format!("{} cannot be made ({error})", cache.display()))?;
    let lock = venv::lock(&cache.join(format!("rust-{OLDEST}.lock")), stage)?;
    // The process that held the lock before may have made it meanwhile.
    if !place.exists() {
        let mut script = Command::new(checkout.root().join(SCRIPT));
        exclusively(|| stage.run(script.arg(OLDEST).arg(&place)))?;
    }
    drop(lock);
    Compiler::of(&place)
}
