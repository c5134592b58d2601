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
/// The compiler's packages of Debian: a release may have several versions.
const PACKAGES: [&str; 2] = ["rustc", "rustc-web"];

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

/// Downloads Debian's packages of the compiler and unpacks them in the folder for caches:
/// they cannot be installed beside another version.
fn unpacked(checkout: &Checkout, stage: &mut Stage) -> Outcome<Compiler> {
    let cache = venv::cache_folder(checkout, stage);
    let place = cache.join(format!("rust-{OLDEST}"));
    if let Ok(compiler) = Compiler::of(&place) {
        return Ok(compiler);
    }
    let cannot = |error| format!("{} cannot be made ({error})", place.display());
    std::fs::create_dir_all(&cache).map_err(cannot)?;
    let lock = venv::lock(&cache.join(format!("rust-{OLDEST}.lock")), stage)?;
    // The process that held the lock before may have made it meanwhile.
    if !place.exists() {
        let unfinished = cache.join(format!("rust-{OLDEST}.unfinished"));
        drop(std::fs::remove_dir_all(&unfinished));
        std::fs::create_dir_all(&unfinished).map_err(cannot)?;
        let packages = downloaded(&unfinished, stage)?;
        stage.note(&format!("{packages}, unpacked in {}", place.display()));
        let root = unfinished.join("root");
        let files = std::fs::read_dir(&unfinished).map_err(cannot)?;
        for path in files.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            stage.run(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(&root))?;
        }
        std::fs::rename(&root, &place).map_err(cannot)?;
        drop(std::fs::remove_dir_all(&unfinished));
    }
    drop(lock);
    Compiler::of(&place)
}

/// Downloads the packages into a folder, and returns the name and the version of the
/// compiler's.
fn downloaded(folder: &Path, stage: &mut Stage) -> Outcome<String> {
    let download = |stage: &mut Stage| {
        let (package, version) = offered()?;
        let mut command = Command::new("apt-get");
        command.current_dir(folder).args(["download", "--quiet"]).args(parts(&package, &version)?);
        stage.run(&mut command)?;
        Ok(format!("{package} {version}"))
    };
    if let Ok(done) = download(stage) {
        return Ok(done);
    }
    // A new machine has no list of packages, and that of an old one may name packages that
    // newer ones have replaced.
    let update = ["update", "--quiet", "--option", "APT::Update::Error-Mode=any"];
    exclusively(|| stage.run(Command::new("apt-get").args(update)))?;
    download(stage)
}

/// The packages of a compiler, as `apt-get download` names them.
fn parts(package: &str, version: &str) -> Outcome<Vec<String>> {
    let kind = package.trim_start_matches("rustc");
    let runtime = format!("libstd-rust{kind}-{OLDEST}={version}");
    let depends = answer_of("apt-cache", &["depends", &runtime]).unwrap_or_default();
    let mut depends = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let llvm = depends
        .find(|name| name.starts_with("libllvm"))
        .ok_or_else(|| format!("{runtime} names no package of LLVM"))?;
    Ok(vec![
        format!("{package}={version}"),
        format!("libstd-rust{kind}-dev={version}"),
        llvm.to_owned(),
        runtime,
    ])
}

/// The name and the version of the package of the oldest Rust.
fn offered() -> Outcome<(String, String)> {
    let list = answer_of("apt-cache", &["madison", PACKAGES[0], PACKAGES[1]])
        .ok_or("there is no apt-cache")?;
    offer(&list).ok_or_else(|| format!("no list of packages has Rust {OLDEST}"))
}

/// The first line for the oldest Rust in the list that `apt-cache madison` prints:
/// `rustc | 1.85.0+dfsg3-1 | http://…`.
fn offer(list: &str) -> Option<(String, String)> {
    list.lines().find_map(|line| {
        let mut columns = line.split('|').map(str::trim);
        let (package, version) = (columns.next()?, columns.next()?);
        let is_oldest = version.strip_prefix(OLDEST)?.starts_with('.');
        is_oldest.then(|| (package.to_owned(), version.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::offer;

    #[test]
    fn the_oldest_rust_is_found_among_versions() {
        let list = "     rustc | 1.63.0+dfsg1-2 | main Packages\n\
            rustc-web | 1.96.0+dfsg1-1~deb12u2 | security Packages\n\
            rustc-web | 1.85.0+dfsg3-1~deb12u3 | main Packages\n\
            rustc-web | 1.85.0+dfsg3-1~deb12u3 | main Sources\n";
        let expected = ("rustc-web".to_owned(), "1.85.0+dfsg3-1~deb12u3".to_owned());
        assert_eq!(offer(list), Some(expected));
        assert_eq!(offer("rustc | 1.850.0-1 | main"), None);
        assert_eq!(offer(""), None);
    }
}
