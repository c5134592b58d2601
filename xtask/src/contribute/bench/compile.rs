//! `cargo xtask bench compile`: what the derive adds to a build.
//!
//! Crates of 200 structs with the same fields, one with `#[derive(DLPackExport)]`,
//! one with `#[derive(DLPackImport)]`, one with `#[derive(serde::Serialize)]`, one
//! with `serde::Deserialize`, one with no derive at all, are checked in turn, round after round, so that whatever
//! else the machine does falls on all of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::checkout::{Checkout, Outcome, write};
use crate::run::Stage;

/// Structs in each crate.
const STRUCTS: usize = 200;
/// Rounds over the crates.
const ROUNDS: usize = 9;

/// One of the crates that are compared.
struct Variant {
    name: &'static str,
    dependency: String,
    derive: &'static str,
    data: &'static str,
}

/// Measures, prints a table, and writes `target/bench/compile.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let runtime = checkout.root().join("dlpack-traits");
    let serde = "serde = { version = \"1\", features = [\"derive\"] }".to_owned();
    let ours = format!(
        "dlpack-traits = {{ path = {:?}, features = [\"derive\"] }}",
        runtime.display().to_string()
    );
    let variants = [
        Variant { name: "no derive", dependency: String::new(), derive: "", data: "Vec<f32>" },
        Variant {
            name: "serde::Serialize",
            dependency: serde.clone(),
            derive: "#[derive(serde::Serialize)]\n",
            data: "Vec<f32>",
        },
        Variant {
            name: "serde::Deserialize",
            dependency: serde,
            derive: "#[derive(serde::Deserialize)]\n",
            data: "Vec<f32>",
        },
        Variant {
            name: "DLPackExport",
            dependency: ours.clone(),
            derive: "#[derive(dlpack_traits::DLPackExport)]\n",
            data: "Vec<f32>",
        },
        Variant {
            name: "DLPackImport",
            dependency: ours,
            derive: "#[derive(dlpack_traits::DLPackImport)]\n",
            data: "dlpack_traits::ImportedStorage<f32>",
        },
    ];
    let bench = checkout.target().join("bench/compile");
    let mut stage = Stage::begin(checkout, "compile time of the derive", "bench-compile")?;
    let cold = cold_build(checkout, &bench, &mut stage)?;
    let mut folders = Vec::new();
    for variant in &variants {
        let folder = write_crate(&bench, variant)?;
        stage.note(&format!("warming up {STRUCTS} structs with {}", variant.name));
        stage.run(&mut check(&folder))?;
        folders.push(folder);
    }
    let mut seconds = vec![Vec::new(); variants.len()];
    for round in 1..=ROUNDS {
        stage.note(&format!("round {round} of {ROUNDS}"));
        for (times, folder) in seconds.iter_mut().zip(&folders) {
            touch(&folder.join("src/lib.rs"))?;
            let started = Instant::now();
            stage.run(&mut check(folder))?;
            times.push(started.elapsed().as_secs_f64());
        }
    }
    let medians: Vec<f64> = seconds.iter_mut().map(|times| median(times)).collect();
    report(&bench, &variants, &medians, cold)
}

/// Builds `dlpack-derive` and all it needs into an empty folder.
fn cold_build(checkout: &Checkout, bench: &Path, stage: &mut Stage) -> Outcome<f64> {
    let target = bench.join("cold");
    // An absent folder is as empty as an emptied one.
    drop(fs::remove_dir_all(&target));
    stage.note("cold build of dlpack-derive and its dependencies");
    let mut build = crate::run::cargo(checkout);
    build.args(["build", "--package", "dlpack-derive"]).env("CARGO_TARGET_DIR", &target);
    let started = Instant::now();
    stage.run(&mut build)?;
    Ok(started.elapsed().as_secs_f64())
}

/// Writes the crate of a variant, in a workspace of its own.
fn write_crate(bench: &Path, variant: &Variant) -> Outcome<PathBuf> {
    let folder = bench.join(variant.name.replace([' ', ':'], "-"));
    let manifest = format!(
        "[package]\nname = \"compile-bench\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{}\n[workspace]\n",
        variant.dependency
    );
    let mut source = String::from("//! Structs with three fields each.\n");
    for number in 0..STRUCTS {
        let Variant { derive, data, .. } = variant;
        writeln!(
            source,
            "{derive}pub struct S{number} {{\n    pub data: {data},\n    \
             pub shape: [usize; 3],\n    pub strides: [isize; 3],\n}}"
        )
        .expect("writing to a string cannot fail");
    }
    let unwritable =
        |error| format!("{} cannot be written ({error}); free the disk.", folder.display());
    fs::create_dir_all(folder.join("src")).map_err(unwritable)?;
    fs::write(folder.join("Cargo.toml"), manifest).map_err(unwritable)?;
    fs::write(folder.join("src/lib.rs"), source).map_err(unwritable)?;
    Ok(folder)
}

/// `cargo check` without incremental compilation, so that every round does the
/// same work.
fn check(folder: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["check", "--quiet"])
        .current_dir(folder)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .stdin(Stdio::null());
    command
}

/// Makes a file look edited.
fn touch(file: &Path) -> Outcome {
    let now = fs::FileTimes::new().set_modified(std::time::SystemTime::now());
    fs::File::options()
        .append(true)
        .open(file)
        .and_then(|file| file.set_times(now))
        .map_err(|error| format!("{} cannot be touched ({error}).", file.display()))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn report(bench: &Path, variants: &[Variant], medians: &[f64], cold: f64) -> Outcome {
    let serialize = medians[1];
    println!("\n{:<20} {:>10} {:>14}", "200 structs with", "check, s", "of Serialize");
    let mut rows = Vec::new();
    for (variant, &seconds) in variants.iter().zip(medians) {
        println!("{:<20} {seconds:>10.3} {:>14.2}", variant.name, seconds / serialize);
        rows.push(format!(
            "{{\"variant\": \"{}\", \"median_seconds\": {seconds:.4}, \"of_serialize\": {:.4}}}",
            variant.name,
            seconds / serialize
        ));
    }
    println!("\ncold build of dlpack-derive: {cold:.1} s (median of {ROUNDS} for the table)");
    let json = format!("{{\"cold_build_seconds\": {cold:.2}, \"rows\": [{}]}}\n", rows.join(", "));
    let file = bench.with_file_name("compile.json");
    write(&file, json)
}
