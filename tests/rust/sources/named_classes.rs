//! Classes that users copy name their module: without it Python treats them as built in,
//! and prints `<builtins.Image object at ...>`.
use std::fs;
use std::path::{Path, PathBuf};

/// The texts of a folder, and of those in it, that end so.
fn texts(folder: &Path, extension: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// Names of the modules that the texts define.
fn modules(texts: &[(PathBuf, String)]) -> Vec<String> {
    let items = texts.iter().flat_map(|(_, text)| text.split("#[pymodule]\n").skip(1));
    items
        .filter_map(|item| {
            let item = item.strip_prefix("pub ").unwrap_or(item);
            let name = match item.strip_prefix("fn ") {
                Some(function) => function.split_once('(')?.0,
                None => item.strip_prefix("mod ")?.split_once(" {")?.0,
            };
            Some(name.to_owned())
        })
        .collect()
}

/// How many classes there are; each must be of one of the modules.
fn check(texts: &[(PathBuf, String)]) -> usize {
    let modules = modules(texts);
    let mut classes = 0;
    for (path, text) in texts {
        for line in text.lines().filter(|line| line.starts_with("#[pyclass")) {
            let named = |module| line.contains(&format!("module = \"{module}\""));
            assert!(
                modules.iter().any(named),
                "{}: {line} is of none of {modules:?}",
                path.display()
            );
            classes += 1;
        }
    }
    classes
}

#[test]
fn classes_of_examples_name_their_module() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut classes = 0;
    for example in fs::read_dir(examples).unwrap() {
        let sources = example.unwrap().path().join("src");
        let mut found = Vec::new();
        if sources.is_dir() {
            texts(&sources, "rs", &mut found);
        }
        classes += check(&found);
    }
    assert!(classes > 10, "{classes} classes");
}

#[test]
fn classes_of_the_guide_name_their_module() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlpack-traits/src/guide");
    let mut pages = Vec::new();
    texts(&guide, "md", &mut pages);
    let classes: usize = pages.iter().map(|page| check(core::slice::from_ref(page))).sum();
    assert!(classes > 1, "{classes} classes");
}
