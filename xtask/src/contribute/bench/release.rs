//! The last part of `cargo xtask bench compile`: a release build of 200 derived structs.
//!
//! The structs have four shapes: contiguous, with strides, with strides and an offset, and
//! with an offset. Each is exported by value and shared. With
//! `DLPACK_BENCH_AGAINST=FOLDER`, the checkout in that folder is measured too, in turn.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::size::text;
use crate::checkout::{Checkout, Outcome};
use crate::run::Stage;

/// Structs in the library.
const STRUCTS: usize = 200;
/// Builds of the library, of which the fastest counts.
const ROUNDS: usize = 3;

/// The attributes and fields of each shape, for rank `R`.
const SHAPES: [&str; 4] = [
    "",
    "pub strides: [isize; R],",
    "pub strides: [isize; R], #[dlpack(offset(elements))] pub offset: usize,",
    "#[dlpack(offset(elements))] pub offset: usize,",
];

/// A checkout, and what was measured of it.
struct Tree {
    name: &'static str,
    folder: PathBuf,
    seconds: f64,
    bytes: u64,
}

/// Measures, prints a table, and writes `target/bench/release.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    if !cfg!(target_os = "linux") {
        println!("code is measured in ELF files, which this system does not make.");
        return Ok(());
    }
    let bench = checkout.target().join("bench/release");
    let mut stage = Stage::begin(checkout, "release build of derived structs", "bench-release")?;
    let mut trees = vec![Tree {
        name: "this checkout",
        folder: write_crate(&bench.join("now"), checkout.root())?,
        seconds: f64::INFINITY,
        bytes: 0,
    }];
    if let Some(other) = std::env::var_os("DLPACK_BENCH_AGAINST") {
        let other = fs::canonicalize(&other)
            .map_err(|error| format!("DLPACK_BENCH_AGAINST: {error}; name a checkout."))?;
        let folder = write_crate(&bench.join("against"), &other)?;
        trees.push(Tree { name: "the other", folder, seconds: f64::INFINITY, bytes: 0 });
    }
    for round in 0..=ROUNDS {
        // The first round builds the dependencies too, and is not counted.
        stage.note(&format!("round {round} of {ROUNDS}"));
        for tree in &mut trees {
            let seconds = build(&tree.folder, round, &mut stage)?;
            if round > 0 {
                tree.seconds = tree.seconds.min(seconds);
            }
        }
    }
    for tree in &mut trees {
        let library = tree.folder.join("target/release/librelease_bench.so");
        let image = fs::read(&library)
            .map_err(|error| format!("{} cannot be read ({error}).", library.display()))?;
        tree.bytes = text(&image).ok_or_else(|| format!("{} has no code.", library.display()))?;
    }
    stage.done("measured");
    report(&bench, &trees)
}

/// Writes the library, in a workspace of its own.
fn write_crate(folder: &Path, tree: &Path) -> Outcome<PathBuf> {
    let traits = tree.join("dlpack-traits").display().to_string();
    let manifest = format!(
        "[package]\nname = \"release-bench\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\n\
         dlpack-traits = {{ path = {traits:?}, features = [\"derive\"] }}\n[workspace]\n"
    );
    let mut source = String::from(
        "//! Structs that are exported.\n\
         use dlpack_traits::{DLPackExport, ffi::DLManagedTensorVersioned as Managed};\n",
    );
    for number in 0..STRUCTS {
        let element = ["f32", "u8", "i16", "f64", "i64"][number % 5];
        let rank = (number / 5 % 4 + 1).to_string();
        let fields = SHAPES[number / 20 % 4].replace('R', &rank);
        writeln!(
            source,
            "#[derive(dlpack_traits::DLPackExport)]\npub struct T{number} {{\n    \
             pub data: std::sync::Arc<[{element}]>, pub shape: [usize; {rank}], {fields}\n    \
             #[dlpack(skip)] pub id: [u8; {}],\n}}\n\
             #[unsafe(no_mangle)] pub fn into_{number}(value: T{number}) -> *mut Managed {{\n    \
             value.into_dlpack().map_or(core::ptr::null_mut(), |tensor| tensor.into_raw())\n}}\n\
             #[unsafe(no_mangle)] pub fn to_{number}(value: &T{number}) -> *mut Managed {{\n    \
             value.to_dlpack().map_or(core::ptr::null_mut(), |tensor| tensor.into_raw())\n}}",
            number + 1
        )
        .expect("writing to a string cannot fail");
    }
    let unwritable =
        |error| format!("{} cannot be written ({error}); free the disk.", folder.display());
    fs::create_dir_all(folder.join("src")).map_err(unwritable)?;
    fs::write(folder.join("Cargo.toml"), manifest).map_err(unwritable)?;
    fs::write(folder.join("src/lib.rs"), source).map_err(unwritable)?;
    fs::copy(tree.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(unwritable)?;
    Ok(folder.to_owned())
}

/// Builds the library after an edit, and returns the seconds that it took.
fn build(folder: &Path, round: usize, stage: &mut Stage) -> Outcome<f64> {
    let file = folder.join("src/lib.rs");
    let unwritable = |error| format!("{} cannot be written ({error}).", file.display());
    let source = fs::read_to_string(&file).map_err(unwritable)?;
    fs::write(&file, format!("{source}// {round}\n")).map_err(unwritable)?;
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--release"])
        .current_dir(folder)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS");
    let started = Instant::now();
    stage.run(&mut command)?;
    Ok(started.elapsed().as_secs_f64())
}

fn report(bench: &Path, trees: &[Tree]) -> Outcome {
    println!("\n{:<28} {:>10} {:>12}", "200 structs, release", "build, s", ".text, bytes");
    let mut rows = Vec::new();
    for Tree { name, seconds, bytes, .. } in trees {
        println!("{name:<28} {seconds:>10.1} {bytes:>12}");
        rows.push(format!(
            "{{\"tree\": \"{name}\", \"build_seconds\": {seconds:.2}, \"text_bytes\": {bytes}}}"
        ));
    }
    let file = bench.with_file_name("release.json");
    fs::write(&file, format!("{{\"rows\": [{}]}}\n", rows.join(", ")))
        .map_err(|error| format!("{} cannot be written ({error}).", file.display()))
}
