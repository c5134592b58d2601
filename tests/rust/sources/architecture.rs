//! The structure of the crate: which modules may import which, how long a file may be,
//! and that the two crates are released together.

pub(crate) mod circles;
pub(crate) mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use circles::Files;
use imports::{module_of, modules_named, reexports};

/// The layers of `dlpack-traits`, from the lowest. A module may name modules of lower
/// layers, and itself.
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
    &["exchange", "backend"],
    // Other people's worlds.
    &["python", "interop"],
];

/// They put names together, so they may name all.
const ROOTS: [&str; 3] = ["lib", "__private", "guide"];

/// Imports within a layer, each for a reason. They must not form a cycle.
const SIDEWAYS: [(&str, &str, &str); 14] = [
    ("refcount", "atomic", "a count is an atomic"),
    ("stream_arg", "error", "a stream can be refused"),
    ("alignment", "storage", "memory has an alignment"),
    ("describe", "alignment", "a description is checked for it"),
    ("describe", "strides", "a description is checked with its arithmetic"),
    ("describe", "dims", "a description copies dimensions"),
    ("describe", "storage", "a description is of memory"),
    ("view", "storage", "a view is of a storage"),
    ("view", "describe", "a view is a description with a lifetime"),
    ("export", "copy", "one of the exports is a copy"),
    ("import", "copy", "imported tensors can be copied"),
    ("import", "export", "imported tensors can be exported again"),
    ("export_arc", "export", "exports that are not in place are those of any value"),
    ("exchange", "backend", "a table allocates on the devices of its backends"),
];

/// The folders and files of `python/`, from the lowest. Each may name those before it.
const PYTHON: [&str; 13] = [
    // Values and exceptions, threads and exits, and capsules.
    "convert",
    "interpreter",
    "capsule",
    // The types of arguments and results in stubs.
    "stubs",
    // What an object exports, NumPy's C API, and the exchange tables: ours, which export, and
    // those of other libraries, which imports use.
    "export",
    "numpy",
    "table",
    "import",
    // What functions take and return.
    "argument",
    "result",
    "array_like",
    // A class has methods of all of them.
    "class",
    // Functions of arrays.
    "elementwise",
];

/// The folders of vendors in `backend/`.
const VENDORS: [&str; 5] = ["gpu", "oneapi", "opencl", "vulkan", "webgpu"];

/// The modules that vendors name, for public names; `alignment` for [`HELPERS`].
const MODULES_OF_VENDORS: [&str; 11] = [
    "alignment",
    "backend",
    "describe",
    "device",
    "dtype",
    "element",
    "error",
    "ffi",
    "import",
    "storage",
    "stream_arg",
];

/// What vendors import beside the public interface: a file and a name, each for a reason.
const HELPERS: [(&str, &str, &str); 14] = [
    ("alignment.rs", "alignment", "cudarc requires that elements are aligned"),
    ("backend/append_list.rs", "AppendList", "devices that were adopted, and streams for frees"),
    ("backend/frees.rs", "run_blocking", "a free waits without the GIL"),
    ("backend/lazy_library.rs", "Loaded", "a library is loaded by the first call"),
    ("backend/library.rs", "open", "finds a library by its names"),
    ("backend/library.rs", "checked", "converts an error code"),
    ("backend/library.rs", "add_texts", "errors have the driver's texts"),
    ("backend/library.rs", "driver_text", "so have errors of cudarc"),
    ("backend/object.rs", "Object", "owns an object of a library"),
    ("backend/object.rs", "Ref", "a pointer to such an object"),
    ("backend/reentrant_lock.rs", "ReentrantLock", "callbacks may call the backend again"),
    ("backend/stream_guard.rs", "enter", "makes a stream the current one"),
    ("backend/stream_guard.rs", "innermost", "finds the current one"),
    ("element/readable.rs", "BitsAreValid", "a slice of cudarc has valid elements"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns every Rust file below a folder, except generated ones.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') && !path.is_symlink() {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    rust_files(&workspace(), &mut files);
    assert!(files.len() > 30, "only {} files", files.len());
    files
}

/// Returns the modules that each module of the runtime names, and in which file.
fn imports() -> BTreeMap<String, BTreeMap<String, String>> {
    let source = workspace().join("dlpack-traits/src");
    let reexports = reexports(&read(&source.join("lib.rs")));
    assert_eq!(reexports.get("DLPackExport").map(String::as_str), Some("export"));
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut imports = BTreeMap::<String, BTreeMap<String, String>>::new();
    for file in files {
        let inside = file.strip_prefix(&source).expect("inside").to_owned();
        let module = module_of(&inside);
        let names = imports.entry(module.clone()).or_default();
        for name in modules_named(&read(&file), &inside) {
            // A name of the root stands for the module that defines it.
            let name = reexports.get(&name).unwrap_or(&name);
            if *name != module {
                names.insert(name.clone(), inside.display().to_string());
            }
        }
    }
    imports
}

#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn every_test_program_is_in_the_manifest() {
    let manifest = read(&workspace().join("tests/Cargo.toml"));
    for entry in fs::read_dir(workspace().join("tests/rust")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().expect("a name").to_string_lossy();
            let line = format!("{{ name = \"{name}\", path = \"rust/{name}.rs\" }},");
            assert!(manifest.contains(&line), "tests/Cargo.toml has no line `{line}`");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn imports_point_down() {
    let layers: BTreeMap<&str, usize> = (0..LAYERS.len())
        .flat_map(|layer| LAYERS[layer].iter().map(move |&module| (module, layer)))
        .collect();
    let mut wrong = Vec::new();
    let mut sideways = BTreeSet::new();
    let mut checked = 0;
    for (module, names) in imports() {
        if ROOTS.contains(&module.as_str()) {
            continue;
        }
        let Some(&from) = layers.get(module.as_str()) else {
            wrong.push(format!("`{module}` is on no layer: add it to LAYERS in this test"));
            continue;
        };
        for (name, file) in names {
            checked += 1;
            match layers.get(name.as_str()) {
                Some(&to) if to < from => {}
                Some(&to) if to == from => {
                    let allowed = SIDEWAYS.iter().find(|edge| (edge.0, edge.1) == (&module, &name));
                    match allowed {
                        Some(edge) => _ = sideways.insert((edge.0, edge.1)),
                        None => wrong.push(format!(
                            "{file} names `{name}` on its own layer {to}: give a reason in SIDEWAYS"
                        )),
                    }
                }
                Some(&to) => wrong.push(format!(
                    "{file} (layer {from}) names `{name}` (layer {to}): imports point down"
                )),
                None => wrong.push(format!("{file} names `{name}`, which is not a module")),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(checked > 40, "only {checked} imports were found");
    let unused: Vec<_> =
        SIDEWAYS.iter().filter(|edge| !sideways.contains(&(edge.0, edge.1))).collect();
    assert!(unused.is_empty(), "no longer needed: {unused:?}");
}

/// The imports that are allowed within a layer form no cycle.
#[test]
fn sideways_imports_form_no_cycle() {
    let mut edges: Vec<(&str, &str)> = SIDEWAYS.iter().map(|edge| (edge.0, edge.1)).collect();
    // Removes, repeatedly, the imports of modules that no other module imports.
    while !edges.is_empty() {
        let imported: BTreeSet<&str> = edges.iter().map(|edge| edge.1).collect();
        let before = edges.len();
        edges.retain(|edge| imported.contains(edge.0));
        assert!(edges.len() < before, "a cycle among {edges:?}");
    }
}

/// The files of a package, and their imports.
fn files_of(package: &str) -> Files {
    let source = workspace().join(package).join("src");
    let mut paths = Vec::new();
    rust_files(&source, &mut paths);
    let files = paths.iter().map(|path| {
        let inside = path.strip_prefix(&source).expect("inside");
        (inside.to_string_lossy().replace('\\', "/"), read(path))
    });
    Files::read(&files.collect::<Vec<_>>())
}

/// No two files of one crate import each other, directly or through others: each can be
/// read after the files that it imports.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn files_import_each_other_in_no_circle() {
    for (package, least) in [("dlpack-traits", 400), ("dlpack-derive", 80)] {
        let files = files_of(package);
        assert!(files.count() > least, "only {} imports in {package}", files.count());
        let circles = files.circles();
        assert!(circles.is_empty(), "circles in {package}:\n{}", circles.join("\n"));
    }
}

/// The folders of `python/` have an order, and imports point down in it.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn folders_of_python_import_down() {
    let files = files_of("dlpack-traits");
    let imports = files.between_folders("python");
    assert!(imports.len() > 60, "only {} imports", imports.len());
    let layer = |part: &str| PYTHON.iter().position(|&known| known == part);
    let wrong: Vec<_> = imports
        .iter()
        .filter(|(_, from, to)| match (layer(from), layer(to)) {
            (Some(from), Some(to)) => to >= from,
            _ => true,
        })
        .map(|(file, from, to)| format!("{file}: `{to}` is not below `{from}` in PYTHON"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A vendor's folder could be another crate: it imports the public interface, and few helpers.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn vendors_import_the_public_interface() {
    let source = workspace().join("dlpack-traits/src");
    let mut public = reexports(&read(&source.join("lib.rs")));
    public.extend(reexports(&read(&source.join("backend/mod.rs"))));
    let (files, mut unused) = (files_of("dlpack-traits"), BTreeSet::from(HELPERS));
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for vendor in VENDORS {
        for (file, from, name) in files.imports_of_folder(&["backend", vendor]) {
            checked += 1;
            let mut helpers = HELPERS.iter().filter(|helper| (helper.0, helper.1) == (from, &name));
            match helpers.next() {
                Some(helper) => _ = unused.remove(helper),
                None if from == "ffi.rs" || public.contains_key(&name) => {}
                None => wrong.push(format!("{file} imports `{name}` of {from}: not public")),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(checked > 100, "only {checked} imports were found");
    for vendor in VENDORS {
        let mut paths = Vec::new();
        rust_files(&source.join("backend").join(vendor), &mut paths);
        for path in paths {
            let mut named =
                modules_named(&read(&path), path.strip_prefix(&source).expect("inside"));
            named.retain(|name| !MODULES_OF_VENDORS.contains(&name.as_str()));
            assert!(named.is_empty(), "{} names {named:?}", path.display());
        }
    }
    assert!(unused.is_empty(), "no longer needed: {unused:?}");
}

/// A file over 500 lines has two jobs, and `util` has none.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn files_are_short_and_named_by_their_content() {
    for file in all_rust_files() {
        let lines = read(&file).lines().count();
        assert!(lines <= 500, "{} has {lines} lines: split it", file.display());
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let nothing = ["util", "utils", "helpers", "misc", "common"];
        assert!(!nothing.contains(&&*name), "{}: name its job", file.display());
    }
}

/// Only the Python layer names PyO3.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn only_the_python_layer_names_pyo3() {
    for file in all_rust_files() {
        let path = file.to_string_lossy().replace('\\', "/");
        let runtime = path.contains("/dlpack-traits/src/") || path.contains("/dlpack-derive/src/");
        if runtime && !path.contains("/dlpack-traits/src/python/") {
            let text = imports::code_of(&read(&file));
            assert!(!text.contains("pyo3::"), "{path} names pyo3");
        }
    }
}

/// The value of `key = ...` in a section of a manifest.
fn value(manifest: &str, section: &str, key: &str) -> Option<String> {
    let (_, rest) = manifest.split_once(&format!("[{section}]\n"))?;
    let section = rest.split("\n[").next()?;
    let line = section.lines().find(|line| {
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    })?;
    Some(line[key.len()..].trim_start_matches([' ', '=']).to_owned())
}

/// The derive and the runtime have one version, and each requires exactly that.
#[test]
#[cfg_attr(miri, ignore = "it reads files, and has nothing that Miri could see")]
fn versions_match() {
    let root = read(&workspace().join("Cargo.toml"));
    let version = value(&root, "workspace.package", "version").expect("a version");
    let version = version.trim_matches('"');
    for package in ["dlpack-derive", "dlpack-traits"] {
        let manifest = read(&workspace().join(package).join("Cargo.toml"));
        let own = value(&manifest, "package", "version").expect("a version");
        assert_eq!(own, ".workspace = true", "{package}");
        let dependency = value(&root, "workspace.dependencies", package).expect("a dependency");
        let exactly = format!("version = \"={version}\"");
        assert!(dependency.contains(&exactly), "{package} is not required with {exactly}");
    }
    // Also where the feature `derive` is off, the resolver may not mix versions.
    let manifest = read(&workspace().join("dlpack-traits/Cargo.toml"));
    let tied = value(&manifest, "target.'cfg(any())'.dependencies", "dlpack-derive");
    assert_eq!(tied.as_deref(), Some("{ workspace = true }"));
}
