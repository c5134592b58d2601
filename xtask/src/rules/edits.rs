//! The mutants that are kept in `quality/mutants/edits`: edits that take out what keeps
//! a rule.
//!
//! ```text
//! F4 too many dimensions
//! test import/rejects.rs::table
//! in dlpack-traits/src/import/raw.rs
//! -    if ndim > MAX_NDIM {
//! +    if false {
//! ```
//!
//! Lines with `-`, together and with their indentation, stand exactly once in
//! the file; those with `+` take their place. Several such places follow each
//! other. A blank line ends a mutant; `#` begins a comment. In place of `test`
//! stands `miri` where the machine does not notice, and Miri does.

use std::collections::BTreeMap;
use std::path::Path;

use super::reference::Test;
use crate::checkout::{files_below, read};
use crate::outcome::Outcome;

/// The folder of the mutants.
const FOLDER: &str = "quality/mutants/edits";

/// An edit, and the test that must fail with it.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The rules whose mechanism is removed.
    pub(crate) rules: Vec<String>,
    /// The rules, and what the mutated code does.
    pub(crate) title: String,
    /// The test, as `docs/soundness.md` names it.
    pub(crate) named: String,
    /// The test.
    pub(crate) test: Test,
    /// The runner of the test.
    pub(crate) with: Runner,
    edits: Vec<Edit>,
}

/// Runs the test of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Runner {
    /// The host, like any other test in Rust.
    Machine,
    /// Miri, because the only effect is undefined behaviour.
    Miri,
    /// pytest, with rebuilt extension modules.
    Python,
}

/// An edit of a file: the lines before and after.
#[derive(Clone, Debug, Default)]
struct Edit {
    file: String,
    find: String,
    replace: String,
}

impl Mutant {
    /// The changed files, by path.
    pub(crate) fn apply(&self, root: &Path) -> Outcome<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        for edit in &self.edits {
            let text = match files.remove(&edit.file) {
                Some(text) => text,
                None => read(&root.join(&edit.file))?,
            };
            let found = text.matches(&edit.find).count();
            if found != 1 {
                let first = edit.find.lines().next().unwrap_or_default().trim();
                return Err(format!("{} has `{first}` {found} times, not once", edit.file));
            }
            files.insert(edit.file.clone(), text.replacen(&edit.find, &edit.replace, 1));
        }
        Ok(files)
    }
}

/// All mutants, in the order of the files' names.
pub(crate) fn all(root: &Path) -> Outcome<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for file in files_below(&root.join(FOLDER))? {
        let found = parse(&read(&file)?);
        mutants.extend(found.map_err(|problem| format!("{}: {problem}", file.display()))?);
    }
    Ok(mutants)
}

/// Whether a word is a rule: the letter of a table, and a number.
pub(super) fn is_rule(word: &str) -> bool {
    let (letter, number) = word.split_at_checked(1).unwrap_or_default();
    "ABDEFHLWX".contains(letter) && number.parse::<usize>().is_ok()
}

fn parse(text: &str) -> Outcome<Vec<Mutant>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let blocks = lines.split(|line| line.trim().is_empty()).filter(|block| !block.is_empty());
    blocks.map(|block| mutant(block).map_err(|what| format!("`{}` {what}.", block[0]))).collect()
}

fn mutant(block: &[&str]) -> Outcome<Mutant> {
    let title = block[0].to_owned();
    let rules = title.split(' ').take_while(|word| is_rule(word)).map(str::to_owned);
    let rules: Vec<String> = rules.collect();
    if rules.is_empty() || rules.len() == title.split(' ').count() {
        return Err("is not a rule and what happens to it".to_owned());
    }
    let (mut test, mut file) = (None, String::new());
    let mut edits: Vec<Edit> = Vec::new();
    // Whether the last line began with `-`.
    let mut is_begun = false;
    for line in &block[1..] {
        let was_begun = std::mem::replace(&mut is_begun, line.starts_with('-'));
        if let Some(name) = line.strip_prefix("test ") {
            let python = name.contains(".py::");
            test = Some((name, if python { Runner::Python } else { Runner::Machine }));
        } else if let Some(name) = line.strip_prefix("miri ") {
            test = Some((name, Runner::Miri));
        } else if let Some(name) = line.strip_prefix("in ") {
            name.clone_into(&mut file);
        } else if let Some(line) = line.strip_prefix('-') {
            if !was_begun {
                edits.push(Edit { file: file.clone(), ..Edit::default() });
            }
            edits.last_mut().ok_or("removes nothing")?.find.extend([line, "\n"]);
        } else if let Some(line) = line.strip_prefix('+') {
            edits.last_mut().ok_or("replaces nothing")?.replace.extend([line, "\n"]);
        } else {
            return Err(format!("has the odd line `{line}`"));
        }
    }
    let (named, with) = test.ok_or("names no test")?;
    if edits.is_empty() || edits.iter().any(|edit| edit.find == edit.replace) {
        return Err("changes nothing".to_owned());
    }
    Ok(Mutant { rules, title, named: named.to_owned(), test: Test::parse(named)?, with, edits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read() {
        let text = "# a comment\nF4 H1 no limit\ntest a.rs::b\nin src/raw.rs\n-    if x {\n\
            -        y\n+    if false {\n-    z\n+    w\n\n\nA1 two\nmiri c.rs::d\nin q\n-a\n";
        let mutants = parse(text).unwrap();
        assert_eq!(mutants.len(), 2);
        assert_eq!((&*mutants[0].title, &*mutants[0].named), ("F4 H1 no limit", "a.rs::b"));
        assert_eq!(mutants[0].edits.len(), 2);
        assert_eq!(mutants[0].edits[0].find, "    if x {\n        y\n");
        assert_eq!(mutants[0].edits[1].replace, "    w\n");
        assert_eq!((mutants[0].with, mutants[1].with), (Runner::Machine, Runner::Miri));
        for wrong in ["F4\n-x", "F4 x\nin a\n-b", "F4 x\ntest a.rs::b", "x y", "F4 x\n?"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
