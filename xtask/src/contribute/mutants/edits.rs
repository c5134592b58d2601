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

use crate::checkout::{Outcome, read};
use crate::contribute::rules::reference::Reference;

/// An edit, and the test that must fail with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The rule whose mechanism is removed.
    pub(crate) rules: Vec<String>,
    /// What the mutated code does.
    pub(crate) words: String,
    /// The test, as `docs/soundness.md` names it.
    pub(crate) test: String,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edit {
    file: String,
    find: String,
    replace: String,
}

impl Mutant {
    /// The rules, and the effect of the mutation.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.rules.join(" "), self.words)
    }

    /// The test.
    pub(crate) fn reference(&self) -> Outcome<Reference> {
        Reference::parse(&self.test)
    }

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
    let folder = root.join("quality/mutants/edits");
    let unreadable = |error| format!("{} cannot be read ({error}).", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    files.sort();
    let mut mutants = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = parse(&read(&file)?);
        mutants
            .extend(found.map_err(|problem| format!("quality/mutants/edits/{name}: {problem}"))?);
    }
    Ok(mutants)
}

fn parse(text: &str) -> Outcome<Vec<Mutant>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let blocks = lines.split(|line| line.trim().is_empty());
    blocks.filter(|block| !block.is_empty()).map(mutant).collect()
}

fn mutant(block: &[&str]) -> Outcome<Mutant> {
    let heading = block[0];
    let is_rule = |word: &&str| {
        let (letter, number) = word.split_at_checked(1).unwrap_or_default();
        "ABDEFHLWX".contains(letter) && number.parse::<usize>().is_ok()
    };
    let rules: Vec<&str> = heading.split(' ').take_while(is_rule).collect();
    let words = heading.split(' ').skip(rules.len()).collect::<Vec<_>>().join(" ");
    if rules.is_empty() || words.is_empty() {
        return Err(format!("`{heading}` is not a rule and what happens to it."));
    }
    let mut test = None;
    let mut file = None;
    let mut edits: Vec<Edit> = Vec::new();
    // Whether the `-` lines of the last edit are still being collected.
    let mut begun = false;
    for line in &block[1..] {
        if let Some(name) = line.strip_prefix("test ") {
            let runner = if name.contains(".py::") { Runner::Python } else { Runner::Machine };
            test = Some((name.to_owned(), runner));
        } else if let Some(name) = line.strip_prefix("miri ") {
            test = Some((name.to_owned(), Runner::Miri));
        } else if let Some(name) = line.strip_prefix("in ") {
            file = Some(name.to_owned());
            begun = false;
        } else if let Some(line) = line.strip_prefix('-') {
            let file = file.clone().ok_or_else(|| format!("`{heading}` names no file."))?;
            match edits.last_mut() {
                Some(edit) if begun => edit.find.extend([line, "\n"]),
                _ => edits.push(Edit { file, find: format!("{line}\n"), ..Edit::default() }),
            }
            begun = true;
        } else if let Some(line) = line.strip_prefix('+') {
            let edit = edits.last_mut();
            let edit = edit.ok_or_else(|| format!("`{heading}` replaces nothing."))?;
            edit.replace.extend([line, "\n"]);
            begun = false;
        } else {
            return Err(format!("`{heading}` has the odd line `{line}`."));
        }
    }
    let (test, with) = test.ok_or_else(|| format!("`{heading}` names no test."))?;
    if edits.is_empty() || edits.iter().any(|edit| edit.find == edit.replace) {
        return Err(format!("`{heading}` changes nothing."));
    }
    let rules = rules.into_iter().map(str::to_owned).collect();
    Ok(Mutant { rules, words, test, with, edits })
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
        assert_eq!((mutants[0].title(), &*mutants[0].test), ("F4 H1 no limit".into(), "a.rs::b"));
        assert_eq!(mutants[0].edits.len(), 2);
        assert_eq!(mutants[0].edits[0].find, "    if x {\n        y\n");
        assert_eq!(mutants[0].edits[1].replace, "    w\n");
        assert_eq!(mutants[1].edits[0].replace, "");
        assert_eq!((mutants[0].with, mutants[1].with), (Runner::Machine, Runner::Miri));
        for wrong in
            ["F4\n-x", "F4 x\nin a\n-b", "F4 x\ntest a\n-b", "F4 x\ntest a", "x y", "F4 x\n?"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
