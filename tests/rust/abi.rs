//! `ffi` against a real `dlpack.h` 1.3, through a C compiler.
//!
//! The header is the one in the `apache-tvm-ffi` wheel, or at the path in
//! `DLPACK_HEADER`. Without one the test prints that it is skipped, and fails if
//! `DLPACK_REQUIRE` contains `header`.

mod abi {
    pub(crate) mod facts;
    pub(crate) mod header;
}

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use abi::facts::{self, Facts};
use abi::header::Names;

const FFI: &str = include_str!("../../dlpack-traits/src/ffi.rs");

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The header, or why there is none.
fn header() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("DLPACK_HEADER") {
        let path = PathBuf::from(path);
        return path
            .is_file()
            .then_some(path.clone())
            .ok_or(format!("DLPACK_HEADER is {}, which is not a file", path.display()));
    }
    let venv = package().join("../target/venv");
    let in_wheel = |site: PathBuf| find(&site.join("site-packages/tvm_ffi/include"));
    // `Lib` on Windows, `lib/python3.x` elsewhere.
    let mut places: Vec<PathBuf> = vec![venv.join("Lib")];
    for lib in [venv.join("lib"), venv.join("lib64")] {
        places.extend(entries(&lib));
    }
    places.into_iter().find_map(in_wheel).ok_or_else(|| {
        "there is no dlpack.h in target/venv, which `cargo xtask develop` makes, and \
         DLPACK_HEADER is not set"
            .to_owned()
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// `dlpack/dlpack.h` somewhere below a folder.
fn find(folder: &Path) -> Option<PathBuf> {
    let here = folder.join("dlpack/dlpack.h");
    if here.is_file() {
        return Some(here);
    }
    entries(folder).into_iter().filter(|path| path.is_dir()).find_map(|path| find(&path))
}

/// Returns the header, or prints that the test is skipped and returns `None`.
fn header_or_skip() -> Option<PathBuf> {
    match header() {
        Ok(header) => Some(header),
        Err(reason) => {
            let required = env::var("DLPACK_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|what| what.trim() == "header"),
                "DLPACK_REQUIRE asks for the header, but {reason}"
            );
            // Not `eprintln!`, which the test harness swallows when a test passes.
            let _ = writeln!(std::io::stderr(), "skipped: the ABI was not compared: {reason}");
            None
        }
    }
}

/// Compiles and runs the probe.
fn probe(header: &Path) -> Facts {
    let include = header.parent().and_then(Path::parent).expect("dlpack/dlpack.h");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "dlpack-probe-{}{}",
        std::process::id(),
        env::consts::EXE_SUFFIX
    ));
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(package().join("rust/abi/probe.c"))
        .output()
        .unwrap_or_else(|error| panic!("the C compiler `{compiler}` does not start: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = Command::new(&program).output().expect("the probe starts");
    let _ = fs::remove_file(&program);
    assert!(run.status.success());
    let lines = String::from_utf8(run.stdout).expect("ASCII");
    lines
        .lines()
        .map(|line| {
            let (name, number) = line.rsplit_once(' ').expect("a number");
            (name.to_owned(), number.parse().expect("a number"))
        })
        .collect()
}

/// Every size, alignment, offset, width, enumerator, flag and version.
#[test]
#[cfg_attr(miri, ignore = "Miri runs no C compiler")]
fn ffi_matches_the_c_compiler() {
    let Some(header) = header_or_skip() else { return };
    let (c, rust) = (probe(&header), facts::of_ffi());
    for (fact, number) in &c {
        assert_eq!(rust.get(fact), Some(number), "{fact}: right is C's");
    }
    assert_eq!(c.len(), rust.len(), "facts that the probe does not print");
    let version = (c["constant DLPACK_MAJOR_VERSION"], c["constant DLPACK_MINOR_VERSION"]);
    assert_eq!(version, (1, 3), "the version of {}", header.display());
    println!("{} facts agree with {}", c.len(), header.display());
}

/// Every name of the header is both in the probe and in `ffi`.
#[test]
#[cfg_attr(miri, ignore = "Miri runs no C compiler")]
fn every_header_name_is_probed() {
    let Some(header) = header_or_skip() else { return };
    let text = fs::read_to_string(&header).expect("a readable header");
    let names = Names::of(&text);
    let facts = facts::of_ffi();
    // As many as 1.3 has, so that a parser which finds nothing does not pass.
    let counts = (names.constants.len(), names.types.len(), names.fields.len());
    assert_eq!(counts, (5 + 16 + 18, 8 + 5, 2 + 2 + 3 + 7 + 3 + 5 + 2 + 6), "{names:#?}");
    for name in &names.constants {
        assert!(facts.contains_key(&format!("constant {name}")), "{name} is not compared");
        assert!(FFI.contains(&format!("pub const {name}: ")), "{name} is not in ffi");
    }
    for name in &names.types {
        assert!(facts.contains_key(&format!("size {name}")), "{name} is not compared");
        let defined = [format!("pub struct {name} {{"), format!("pub type {name} =")];
        assert!(defined.iter().any(|text| FFI.contains(text)), "{name} is not in ffi");
    }
    for name in &names.fields {
        assert!(facts.contains_key(&format!("offset {name}")), "{name} is not compared");
        let (of, field) = name.split_once('.').expect("Type.field");
        let (_, body) = FFI.split_once(&format!("pub struct {of} {{")).expect("a struct");
        let (body, _) = body.split_once("\n}").expect("its end");
        assert!(body.contains(&format!("pub {field}: ")), "{name} is not in ffi");
    }
    // In the order of the header, as the documentation of `ffi` states.
    let order = |text: &str, name: &str| text.find(name).expect("just found");
    let mut constants: Vec<&String> =
        names.constants.iter().filter(|n| n.starts_with("kDL")).collect();
    constants.sort_by_key(|name| order(&text, &format!(" {name} = ")));
    let there: Vec<usize> =
        constants.iter().map(|name| order(FFI, &format!("pub const {name}: "))).collect();
    assert!(there.is_sorted(), "the codes are in another order than in the header");
}
