//! The two places that explain the attributes, the tables in the documentation of the
//! derives and the tour in `docs/derive.md`, against the keys that the derives accept and
//! the expansion that they generate.

use std::collections::BTreeSet;
use std::{env, fs};

/// The constants that contain every key of `#[dlpack(...)]` as a string.
const SYMBOLS: &str = include_str!("../../../dlpack-derive/src/attributes.rs");
/// The derives, with their documentation.
const DERIVES: [&str; 2] = [
    include_str!("../../../dlpack-derive/src/lib.rs"),
    include_str!("../../../dlpack-derive/docs/import.md"),
];
const TOUR: &str = include_str!("../../../docs/derive.md");
/// Where the page shows the expansion.
const HEADING: &str = "## The expansion";
/// Code on that page that is not compiled there, but in `derive/expanded.rs`.
const FENCE: &str = "```rust,ignore\n";
const EXPANSION: &str = include_str!("../../../dlpack-derive/tests/expand/image.expanded.rs");

/// Returns the keys: all strings in those files, except the attribute's own name.
fn words() -> BTreeSet<&'static str> {
    let code = SYMBOLS.split("#[cfg(test)]").next().unwrap_or_default();
    let code = code.lines().map(str::trim_start);
    let code = code.filter(|line| !line.starts_with("//"));
    let strings = code.flat_map(|line| line.split('"').skip(1).step_by(2));
    let words: BTreeSet<_> = strings.filter(|word| *word != "dlpack").collect();
    assert!(words.len() > 30, "the words are elsewhere now: {words:?}");
    words
}

/// Returns the rows of the tables that explain keys.
fn rows() -> impl Iterator<Item = &'static str> {
    let lines = DERIVES.into_iter().flat_map(str::lines);
    let lines = lines.map(|line| line.strip_prefix("/// ").unwrap_or(line));
    lines.filter(|line| line.starts_with("| `#[dlpack("))
}

/// Returns whether the text contains the key as a whole word.
fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// Returns the content of the parentheses of each `#[dlpack(...)]`.
fn attributes(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[dlpack(").skip(1).map(|rest| rest.split(")]").next().unwrap_or_default())
}

#[test]
#[cfg_attr(miri, ignore = "it reads text and touches no memory")]
fn every_key_is_in_a_table() {
    let rows: Vec<_> = rows().collect();
    for word in words() {
        let found = rows.iter().any(|row| mentions(row, word));
        assert!(found, "no table in the documentation of the derives has a row about `{word}`");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it reads text and touches no memory")]
fn every_key_is_in_the_tour() {
    for word in words() {
        let shown = attributes(TOUR).any(|attribute| mentions(attribute, word));
        let mut codes = TOUR.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let told = codes.any(|code| mentions(code, word));
        assert!(shown || told, "docs/derive.md does not explain `{word}`");
    }
}

/// A table must not list keys that no derive accepts.
#[test]
#[cfg_attr(miri, ignore = "it reads text and touches no memory")]
fn every_row_is_a_key() {
    let words = words();
    for line in rows() {
        for attribute in attributes(line) {
            let word = attribute.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            assert!(
                word.is_some_and(|word| words.contains(word)),
                "no derive accepts `{attribute}`"
            );
        }
    }
}

/// `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources attribute_reference` writes
/// the expansion there anew.
#[test]
#[cfg_attr(miri, ignore = "it reads text and touches no memory")]
fn the_tour_shows_the_generated_expansion() {
    let (before, shown) = TOUR.split_once(HEADING).expect("the section is there");
    let mut parts = shown.split(FENCE);
    let prose = parts.next().unwrap_or_default();
    let (codes, proses): (Vec<_>, Vec<_>) =
        parts.map(|part| part.split_once("```").expect("a fence has an end")).unzip();
    let written = pieces(&codes);
    if env::var_os("DLPACK_BLESS").is_some() {
        let pieces = written.iter().zip(proses);
        let pieces = pieces.map(|(code, prose)| format!("{FENCE}{code}```{prose}"));
        let shown = format!("{before}{HEADING}{prose}{}", pieces.collect::<String>());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/derive.md");
        fs::write(path, shown).expect("the page can be written");
        return;
    }
    for (shown, written) in codes.iter().zip(&written) {
        assert_eq!(shown, written, "docs/derive.md shows it otherwise than image.expanded.rs");
    }
}

/// Returns the expansion, split where the page splits it: before the first line of each
/// item, including the attributes above it.
fn pieces(codes: &[&str]) -> Vec<String> {
    // The runtime has another name in this package.
    let written = EXPANSION.replace("::tensors::", "::dlpack_traits::");
    let lines: Vec<&str> = written.lines().collect();
    let is_attribute = |line: &str| line.trim_start().starts_with("#[");
    let start = |code: &&str| {
        let first = code.lines().find(|line| !is_attribute(line)).unwrap_or_default();
        let mut start = lines.iter().position(|line| *line == first);
        assert!(start.is_some(), "image.expanded.rs has no line `{first}`");
        while let Some(above) = start.and_then(|start| start.checked_sub(1)) {
            if !is_attribute(lines[above]) {
                break;
            }
            start = Some(above);
        }
        start.unwrap_or_default()
    };
    let starts: Vec<usize> = codes.iter().map(start).collect();
    assert_eq!(starts.first(), Some(&0), "docs/derive.md shows the expansion from its first line");
    let ends = starts.iter().copied().skip(1).chain([lines.len()]);
    starts.iter().zip(ends).map(|(start, end)| lines[*start..end].join("\n") + "\n").collect()
}
