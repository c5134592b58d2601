//! The structure of the crates: which modules may import which, how long a file may be, and that
//! the two crates are released together.

use std::collections::BTreeSet;

use super::imports::{Files, Import, in_circles};
use super::text::{files, read, sources, tokens};

/// The layers of `dlpack-traits`, from the lowest. A module imports modules of lower layers, and
/// those before it in its own.
const LAYERS: [&[&str]; 8] = [
    // The C header, and modules without imports.
    &["byte_atomic", "ffi", "panic", "atomic", "refcount"],
    // Words. They never fail, so that errors can print them.
    &["dtype", "device", "version", "flags"],
    &["error", "element", "stream_arg"],
    // Descriptions of memory.
    &["strides", "dims", "storage", "alignment", "describe", "view"],
    // Tensors with an owner.
    &["managed"],
    &["copy", "export", "import", "export_arc"],
    // Devices and the exchange table.
    &["backend", "exchange"],
    // Other people's worlds.
    &["python", "interop"],
];
/// They put names together, so they may name all.
const ROOTS: [&str; 3] = ["lib", "__private", "guide"];

/// The folders and files of `python/`: each may import those before it.
const PYTHON: [&[&str]; 6] = [
    // Values and exceptions, threads and exits, and capsules.
    &["convert", "interpreter", "capsule"],
    // The types of arguments and results in stubs.
    &["stubs"],
    // What an object exports, NumPy's C API, and the exchange tables: ours, which export, and
    // those of other libraries, which imports use.
    &["export", "numpy", "table", "import"],
    // What functions take and return.
    &["argument", "result", "array_like"],
    // A class has methods of all of them.
    &["class"],
    // Functions of arrays.
    &["elementwise"],
];

/// The folders of vendors in `backend/`.
const VENDORS: [&str; 5] = ["gpu", "oneapi", "opencl", "vulkan", "webgpu"];
/// The items that vendors import beside the public interface.
const HELPERS: &str = "alignment AppendList Direction run_blocking Loaded Null open checked add_texts driver_text \
                       Object Ref ReentrantLock enter innermost BitsAreValid";

/// The imports between the files of a package, of which it has at least that many.
fn imports(package: &str, least: usize) -> BTreeSet<Import> {
    let sources = sources(package);
    let imports = Files::read(&sources).imports();
    assert!(imports.len() > least, "only {} imports in {package}", imports.len());
    imports
}

/// The module in a folder that contains a file; `None` outside of the folder.
fn module_in<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    file.strip_prefix(folder)?.split(['/', '.']).next()
}

/// The imports of a folder, from one of its modules to another that is not before it.
fn upward(folder: &str, order: &[&[&str]]) -> Vec<Import> {
    let order = order.concat();
    let place = |module: &str| order.iter().position(|known| *known == module);
    let is_upward = |(from, to, _): &Import| {
        let (Some(from), Some(to)) = (module_in(folder, from), module_in(folder, to)) else {
            return false;
        };
        let is_below = place(to) < place(from) && place(to).is_some();
        from != to && !is_below && !(folder.is_empty() && ROOTS.contains(&from))
    };
    imports("dlpack-traits", 2000).into_iter().filter(is_upward).collect()
}

#[test]
fn imports_point_down() {
    assert_eq!(upward("", &LAYERS), []);
    assert_eq!(upward("python/", &PYTHON), []);
    assert_ne!(upward("python/", &[]), []);
}

/// Each file can be read after the files that it imports.
#[test]
fn files_import_each_other_in_no_circle() {
    assert_eq!(in_circles(imports("dlpack-traits", 2000)), BTreeSet::new());
    assert_eq!(in_circles(imports("dlpack-derive", 500)), BTreeSet::new());
}

/// A vendor's folder could be another crate: it imports the public interface, and few helpers.
#[test]
fn vendors_import_the_public_interface() {
    let sources = sources("dlpack-traits");
    let files = Files::read(&sources);
    let (root, backend) = (files.reexports(""), files.reexports("backend"));
    let mut private = BTreeSet::new();
    for (from, to, item) in files.imports() {
        let vendor = module_in("backend/", &from);
        let is_own = vendor == module_in("backend/", &to) || to == "ffi.rs";
        let is_public = root.contains(&*item) || backend.contains(&*item);
        if vendor.is_some_and(|vendor| VENDORS.contains(&vendor)) && !is_own && !is_public {
            private.insert(item);
        }
    }
    assert_eq!(private, HELPERS.split_whitespace().map(str::to_owned).collect());
}

/// Only the Python layer names PyO3.
#[test]
fn only_the_python_layer_names_pyo3() {
    let files = [sources("dlpack-traits"), sources("dlpack-derive")].concat();
    for (name, code) in files.iter().filter(|(name, _)| !name.starts_with("python/")) {
        let named = tokens(code).windows(2).any(|pair| pair == ["pyo3", "::"]);
        assert!(!named, "{name} names pyo3");
    }
}

/// A file over 500 lines has two jobs, and `util` has none.
#[test]
fn files_are_short_and_named_by_their_content() {
    let files = files(".", "rs");
    assert!(files.len() > 600, "only {} files", files.len());
    for (path, text) in files {
        let lines = text.lines().count();
        assert!(lines <= 500, "{path} has {lines} lines: split it");
        let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let nothing = ["util", "utils", "helpers", "misc", "common"];
        assert!(!nothing.contains(&name), "{path}: name its job");
    }
}

#[test]
fn every_test_program_is_in_the_manifest() {
    let manifest = read("tests/Cargo.toml");
    for (path, _) in files("tests/rust", "rs").iter().filter(|(path, _)| !path.contains('/')) {
        let name = path.trim_end_matches(".rs");
        let line = format!("{{ name = \"{name}\", path = \"rust/{path}\" }},");
        assert!(manifest.contains(&line), "tests/Cargo.toml has no line `{line}`");
    }
}

/// The derive and the runtime require each other's version exactly, also where the feature `derive`
/// is off: the resolver may not mix versions.
#[test]
fn versions_match() {
    let workspace = read("Cargo.toml");
    for name in ["dlpack-derive", "dlpack-traits"] {
        let exactly = format!("\n{name} = {{ path = \"{name}\", version = \"=");
        assert!(workspace.contains(&exactly), "Cargo.toml has no line `{exactly}`");
    }
    let tied = "[target.'cfg(any())'.dependencies]\ndlpack-derive = { workspace = true }\n";
    assert!(read("dlpack-traits/Cargo.toml").contains(tied), "no section `{tied}`");
}
