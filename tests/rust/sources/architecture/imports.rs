//! The modules that a Rust file names by `crate::`, without a parser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Returns the module at the root that contains a file of `src`.
pub(crate) fn module_of(inside: &Path) -> String {
    let first = inside.components().next().expect("a file");
    let first = Path::new(first.as_os_str());
    first.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The code of a file: no comments, and nothing of its unit tests, which stand
/// at the end of it.
pub(crate) fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    // A `//` inside a string would cut a line short; a `crate::` behind it is
    // none that counts.
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The first names behind every `crate::` of a file.
pub(crate) fn modules_named(text: &str, inside: &Path) -> BTreeSet<String> {
    let code = code_of(text);
    let in_root = inside.components().count() == 1 || inside.ends_with("mod.rs");
    assert!(
        !in_root || !code.contains("super::"),
        "{}: `super` is the root of the crate; write `crate::`",
        inside.display()
    );
    let mut names = BTreeSet::new();
    let mut rest = code.as_str();
    while let Some((before, after)) = rest.split_once("crate::") {
        rest = after;
        if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        if let Some(group) = after.strip_prefix('{') {
            names.extend(firsts_of_group(group));
        } else {
            names.insert(first_word(after));
        }
    }
    names.remove("");
    names
}

/// The first names of the paths in `a::b, c::{d, e}}`.
fn firsts_of_group(group: &str) -> Vec<String> {
    let mut firsts = vec![first_word(group.trim_start())];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => firsts.push(first_word(group[at + 1..].trim_start())),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    firsts
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|&c| c.is_ascii_alphanumeric() || c == '_').collect()
}

/// The names that the root takes from its modules, each with its module.
pub(crate) fn reexports(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let code = code_of(root);
    for statement in code.split(';') {
        let Some((_, path)) = statement.split_once("pub use ") else { continue };
        let Some((module, list)) = path.split_once("::") else { continue };
        if module == "dlpack_derive" {
            continue;
        }
        for name in list.trim_matches(['{', '}', ' ', '\n']).split(',').map(str::trim) {
            if !name.is_empty() {
                names.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_paths_are_found() {
        let text = "use crate::a::{b, c};\nuse crate::{d::e, f::{g, h}, i};\n// crate::no\n\
                    fn j() -> crate::k::L { $crate::m::n() }\nlet x = my_crate::o;\n\
                    #[cfg(test)]\nmod tests { use crate::p; }";
        let names = modules_named(text, Path::new("x.rs"));
        let expected = ["a", "d", "f", "i", "k", "m"].map(str::to_owned);
        assert_eq!(names, BTreeSet::from(expected));
        let root = reexports("pub use a::B;\npub use c::{D,\n    E};\n");
        assert_eq!(root["E"], "c");
        assert_eq!(root["B"], "a");
        assert_eq!(module_of(Path::new("python/mod.rs")), "python");
        assert_eq!(module_of(Path::new("view.rs")), "view");
    }
}
