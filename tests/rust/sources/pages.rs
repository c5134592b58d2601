//! Pages agree with the sources and measurements that they quote.

use std::collections::BTreeSet;

use super::text::{files, is_of_word, read};

/// The rows of the table of consumers, by the names in docs/generated/interop.md.
const CONSUMERS: &str = "numpy torch jax tvm_ffi nanobind mlx paddle tensorflow pyarrow onnxruntime \
                         cuda.core warp dpnp";

/// The keys of `#[dlpack(...)]`: the strings in the constants, except the attribute's own name.
fn keys(symbols: &str) -> BTreeSet<&str> {
    let code = symbols.split("#[cfg(test)]").next().unwrap_or_default().lines();
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    let strings = code.flat_map(|line| line.split('"').skip(1).step_by(2));
    let keys: BTreeSet<_> = strings.filter(|key| *key != "dlpack").collect();
    assert!(keys.len() > 30, "the keys are elsewhere: {keys:?}");
    keys
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c))
}

/// The tables in the documentation of the derives have a row for each key, and for nothing else.
/// The tour explains each.
#[test]
fn every_key_of_the_derives_is_explained() {
    let symbols = read("dlpack-derive/src/attributes.rs");
    let derives = read("dlpack-derive/src/lib.rs") + &read("dlpack-derive/docs/import.md");
    let tour = read("docs/derive.md");
    let rows = derives.lines().map(|line| line.trim_start_matches("/// "));
    let rows: Vec<_> = rows.filter(|line| line.starts_with("| `#[dlpack(")).collect();
    let codes = tour.split("#[dlpack(").skip(1).filter_map(|code| code.split(")]").next());
    let codes = codes.chain(tour.lines().flat_map(|line| line.split('`').skip(1).step_by(2)));
    let told: BTreeSet<_> = codes.flat_map(words).collect();
    let keys = keys(&symbols);
    for key in &keys {
        let is_in_table = rows.iter().any(|row| words(row).any(|word| word == *key));
        assert!(is_in_table, "no table in the documentation of the derives has `{key}`");
        assert!(told.contains(key), "docs/derive.md does not explain `{key}`");
    }
    for attribute in rows.iter().flat_map(|row| row.split("#[dlpack(").skip(1)) {
        let key = words(attribute).next().unwrap_or_default();
        assert!(keys.contains(key), "no derive accepts `{attribute}`");
    }
}

#[test]
fn the_tour_shows_the_generated_expansion() {
    let tour = read("docs/derive.md");
    let (_, section) = tour.split_once("## The expansion").expect("the section");
    let codes = section.split("```rust,ignore\n").skip(1);
    let shown: String = codes.filter_map(|code| code.split("```").next()).collect();
    // The runtime has another name in this package.
    let expansion = read("dlpack-derive/tests/expand/image.expanded.rs");
    assert_eq!(shown, expansion.replace("::tensors::", "::dlpack_traits::"));
}

/// `<!-- excerpt: PATH -->` marks the code block after it as a part of that file.
#[test]
fn excerpts_are_part_of_their_files() {
    let mut count = 0;
    for (page, text) in files("docs", "md").into_iter().chain(files("examples", "md")) {
        for excerpt in text.split("<!-- excerpt: ").skip(1) {
            let (name, block) = excerpt.split_once(" -->\n```").expect("a block after the mark");
            let (_, block) = block.split_once('\n').expect("a line");
            let code = block.split("```").next().unwrap_or_default();
            assert!(read(name).contains(code), "{page}: {name} does not contain\n{code}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} excerpts");
}

/// Versions of the consumers in the reference are those that were measured.
#[test]
fn the_listed_consumers_are_the_measured_ones() {
    let (reference, measured) = (read("docs/reference.md"), read("docs/generated/interop.md"));
    let (_, rows) = reference.split_once("| `from_dlpack` of |").expect("the table");
    let mut rows = rows.lines().skip(2);
    for name in CONSUMERS.split_whitespace() {
        let version = measured.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
        let row = rows.next().expect("a row for each consumer");
        assert!(row.contains(&format!(" {}", version.expect(name))), "{name}: {version:?}, {row}");
    }
}

/// Both tables of features have each.
#[test]
fn every_feature_is_listed() {
    let manifest = read("dlpack-traits/Cargo.toml");
    let (_, features) = manifest.split_once("[features]\n").expect("features");
    let features = features.split("\n[").next().unwrap_or_default().lines();
    let features: Vec<_> = features.filter_map(|line| line.split_once(" = ")).collect();
    assert!(features.len() > 10, "{features:?}");
    for page in ["docs/reference.md", "dlpack-traits/src/lib.rs"] {
        let text = read(page);
        let rows = text.lines().map(|line| line.trim_start_matches("//! "));
        let rows: String = rows.filter(|line| line.starts_with('|')).collect();
        for (name, _) in features.iter().filter(|(name, _)| !["default"].contains(name)) {
            let is_listed = name.starts_with('#') || rows.contains(&format!("`{name}`"));
            assert!(is_listed, "{page} does not list the feature `{name}`");
        }
    }
}

/// mypy and pyright check the stub of the template, which the tool generates.
#[test]
fn the_stub_of_the_guide_equals_a_generated_one() {
    let method = |path: &str, start: &str| {
        let text = read(path);
        let (_, text) = text.split_once(start).expect("a stub");
        let (_, text) = text.split_once("def __dlpack__(").expect("a method");
        let (method, _) = text.split_once("-> Any: ...").expect("its end");
        method.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let guide = method("dlpack-traits/src/guide/python_class.md", "class Image:");
    assert_eq!(guide, method("tools/doctor/python/dlpack_doctor/stubs.py", ""));
}

/// Classes that users copy name their module: without it Python treats them as built in, and prints
/// `<builtins.Image object at ...>`.
#[test]
fn classes_name_their_module() {
    let guide = files("dlpack-traits/src/guide", "md");
    let mut classes = 0;
    for (path, text) in files("examples", "rs").into_iter().chain(guide) {
        for line in text.lines().filter(|line| line.starts_with("#[pyclass")) {
            assert!(line.contains("module = \""), "{path}: {line} has no module");
            classes += 1;
        }
    }
    assert!(classes > 20, "only {classes} classes");
}
