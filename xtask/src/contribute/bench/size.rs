//! `cargo xtask bench size`: machine code per further exported type.
//!
//! Libraries with 1 and with 101 types are built, and what the code sections differ
//! by is divided by 100. No two types are alike: identical code would be merged.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::run::{EXTENSION_MODULE, Stage};
use crate::venv::{self, Environment, Packages};

/// Types beyond the first.
const FURTHER: usize = 100;

/// The operations that are compiled for each type.
struct Variant {
    row: &'static str,
    python: bool,
    /// Bytes per type; `None` for a row that is only a reference.
    bar: Option<usize>,
    source: fn(usize) -> String,
}

const VARIANTS: [Variant; 4] = [
    Variant {
        row: "into_dlpack",
        python: false,
        bar: Some(1024),
        source: |number| {
            let derive = "#[derive(dlpack_traits::DLPackExport)]\n";
            let fields = fields(number, "Vec");
            format!(
                "{derive}pub struct T{number} {{ {fields} }}\n\
                 #[unsafe(no_mangle)] pub fn export_{number}(value: T{number}) -> *mut Managed {{\n    \
                 value.into_dlpack().map_or(core::ptr::null_mut(), |tensor| tensor.into_raw())\n}}\n"
            )
        },
    },
    Variant {
        row: "to_dlpack",
        python: false,
        bar: Some(1024),
        source: |number| {
            let derive = "#[derive(dlpack_traits::DLPackExport)]\n";
            let fields = fields(number, "Arc");
            format!(
                "{derive}pub struct T{number} {{ {fields} }}\n\
                 #[unsafe(no_mangle)] pub fn export_{number}(value: &T{number}) -> *mut Managed {{\n    \
                 value.to_dlpack().map_or(core::ptr::null_mut(), |tensor| tensor.into_raw())\n}}\n"
            )
        },
    },
    Variant {
        row: "a Python class of its own",
        python: true,
        bar: None,
        source: |number| {
            let fields = fields(number, "Arc").replace("#[dlpack(skip)] ", "");
            format!(
                "#[pyclass(frozen)]\npub struct T{number} {{ {fields} }}\n\
                 pub fn add_{number}(m: &Bound<'_, PyModule>) -> PyResult<()> {{\n    \
                 m.add_class::<T{number}>()\n}}\n"
            )
        },
    },
    Variant {
        row: "a Python class of tensors",
        python: true,
        bar: Some(4096),
        source: |number| {
            let fields = fields(number, "Arc");
            format!(
                "#[pyclass(frozen)]\n#[derive(dlpack_traits::DLPackExport)]\n\
                 pub struct T{number} {{ {fields} }}\n\
                 pub fn add_{number}(m: &Bound<'_, PyModule>) -> PyResult<()> {{\n    \
                 dlpack_traits::python::add_class::<T{number}>(m)\n}}\n"
            )
        },
    },
];

/// Fields that no other number has, in type, rank and size.
fn fields(number: usize, owner: &str) -> String {
    let element = ["f32", "u8", "i16", "f64", "i64"][number % 5];
    let rank = number / 5 % 4 + 1;
    let data = if owner == "Arc" {
        format!("std::sync::Arc<[{element}]>")
    } else {
        format!("Vec<{element}>")
    };
    format!(
        "pub data: {data}, pub shape: [usize; {rank}], \
         #[allow(dead_code)] pub name: String, \
         #[allow(dead_code)] #[dlpack(skip)] pub id: [u8; {}]",
        number + 1
    )
}

/// Measures, prints a table, and writes `target/bench/size.json`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("code is measured in ELF files, which this system does not make.".to_owned());
    }
    let mut stage = Stage::begin(checkout, "machine code per exported type", "bench-size")?;
    let environment = venv::ensure(checkout, Packages::Base, &mut stage)?;
    let bench = checkout.target().join("bench/size");
    let mut rows = Vec::new();
    for variant in &VARIANTS {
        stage.note(&format!("building 1 and {} types: {}", FURTHER + 1, variant.row));
        let mut bytes = [0, 0];
        for (bytes, types) in bytes.iter_mut().zip([1, FURTHER + 1]) {
            let library = build(checkout, &environment, &bench, variant, types, &mut stage)?;
            let image = fs::read(&library)
                .map_err(|error| format!("{} cannot be read ({error}).", library.display()))?;
            *bytes = text(&image).ok_or_else(|| format!("{} has no code.", library.display()))?;
        }
        rows.push((variant, bytes[1].saturating_sub(bytes[0]) / FURTHER as u64));
    }
    stage.done("measured");
    report(&bench, &rows)
}

fn build(
    checkout: &Checkout,
    environment: &Environment,
    bench: &Path,
    variant: &Variant,
    types: usize,
    stage: &mut Stage,
) -> Outcome<PathBuf> {
    // A name of its own: cargo would take one library for the other.
    let name = format!("{}-{types}", variant.row.replace([' ', '_'], "-").to_lowercase());
    let folder = bench.join(&name);
    let traits = checkout.root().join("dlpack-traits").display().to_string();
    let (features, pyo3) = if variant.python {
        ("\"derive\", \"pyo3\"", "pyo3 = { version = \">=0.27, <0.31\" }\n")
    } else {
        ("\"derive\"", "")
    };
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\n\
         dlpack-traits = {{ path = {traits:?}, features = [{features}] }}\n{pyo3}\
         [profile.release]\ncodegen-units = 1\n[workspace]\n"
    );
    let mut source = String::from("//! Types to be exported.\n");
    source += if variant.python {
        "use pyo3::prelude::*;\n"
    } else {
        "use dlpack_traits::{DLPackExport, ffi::DLManagedTensorVersioned as Managed};\n"
    };
    for number in 0..types {
        source += &(variant.source)(number);
    }
    if variant.python {
        source += "#[pymodule]\nfn size_bench(m: &Bound<'_, PyModule>) -> PyResult<()> {\n";
        for number in 0..types {
            let _ = writeln!(source, "    add_{number}(m)?;");
        }
        source += "    Ok(())\n}\n";
    }
    let unwritable =
        |error| format!("{} cannot be written ({error}); free the disk.", folder.display());
    fs::create_dir_all(folder.join("src")).map_err(unwritable)?;
    fs::write(folder.join("Cargo.toml"), manifest).map_err(unwritable)?;
    fs::write(folder.join("src/lib.rs"), source).map_err(unwritable)?;
    // The versions that everything else is built with.
    fs::copy(checkout.root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(unwritable)?;
    let target = bench.join("target");
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--release"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("PYO3_PYTHON", environment.executable())
        .envs([EXTENSION_MODULE]);
    stage.run(&mut command)?;
    Ok(target.join(format!("release/lib{}.so", name.replace('-', "_"))))
}

/// Bytes of the section `.text` of a 64-bit ELF file.
pub(crate) fn text(image: &[u8]) -> Option<u64> {
    fn number<const N: usize>(image: &[u8], at: u64) -> Option<[u8; N]> {
        let at = usize::try_from(at).ok()?;
        image.get(at..at.checked_add(N)?)?.try_into().ok()
    }
    let long = |at| number(image, at).map(u64::from_le_bytes);
    let short = |at| number(image, at).map(u16::from_le_bytes).map(u64::from);
    let word = |at| number(image, at).map(u32::from_le_bytes).map(u64::from);
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count, names) = (long(0x28)?, short(0x3A)?, short(0x3C)?, short(0x3E)?);
    let names = long(table + names * size + 0x18)?;
    (0..count).map(|section| table + section * size).find_map(|section| {
        let name = names + word(section)?;
        (number(image, name)? == *b".text\0").then(|| long(section + 0x20))?
    })
}

fn report(bench: &Path, rows: &[(&Variant, u64)]) -> Outcome {
    println!("\n{:<28} {:>8} {:>8}", "per further type", "bytes", "at most");
    let mut json = Vec::new();
    for (variant, bytes) in rows {
        let row = variant.row;
        let bar = variant.bar.map_or_else(|| "null".to_owned(), |bar| bar.to_string());
        println!("{row:<28} {bytes:>8} {:>8}", variant.bar.map_or("", |_| bar.as_str()));
        json.push(format!(
            "  {{\"group\": \"size\", \"row\": \"{row}\", \"unit\": \"bytes\", \"floor\": null, \
             \"ours\": {bytes}, \"ratio\": null, \"bar\": {bar}, \"peers\": {{}}}}"
        ));
    }
    let file = bench.with_file_name("size.json");
    fs::write(&file, format!("{{\"rows\": [\n{}\n]}}\n", json.join(",\n")))
        .map_err(|error| format!("{} cannot be written ({error}).", file.display()))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_size_of_the_code_of_this_program() {
        let image = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        if cfg!(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")) {
            let text = text(&image).unwrap();
            assert!(text > 10_000 && text < image.len() as u64, "{text}");
        }
        assert_eq!(text(b"MZ"), None);
        assert_eq!(text(&image[..100]), None);
    }
}
