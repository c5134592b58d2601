//! `docs/standard.md`: from each clause to the code that keeps it, and to its test.

use crate::checkout::{Outcome, read};
use std::path::Path;

use super::index::Index;
use super::reference::Reference;

/// What is wrong with the page, a sentence for each mistake.
pub(super) fn problems(root: &Path, index: &Index) -> Outcome<Vec<String>> {
    let page = read(&root.join("docs/standard.md"))?;
    let header = read(&root.join("dlpack-traits/src/ffi.rs"))?;
    let mut problems: Vec<String> = names_of(&header)
        .filter(|name| !page.contains(&format!("`{name}`")))
        .map(|name| format!("docs/standard.md says nothing of `{name}`"))
        .collect();
    for row in rows(&page) {
        problems.extend(check(root, &row, index).map(|what| format!("{}: {what}", row[0])));
    }
    Ok(problems)
}

/// The names that the C header has, but for fields.
fn names_of(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let words = line.strip_prefix("pub ")?;
        let rest = ["const ", "struct ", "type "].iter().find_map(|it| words.strip_prefix(it))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// The cells of each row that has code and tests.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect::<Vec<_>>())
        .filter(|cells| cells.len() == 4 && cells[0] != "clause")
}

/// What a row names that is not there.
fn check(root: &Path, row: &[&str], index: &Index) -> Option<String> {
    let [_, _, code, tests] = row else { return Some("it has not four cells".to_owned()) };
    if code_in(code).next().is_none() || code_in(tests).next().is_none() {
        return Some("it names no code, or no test".to_owned());
    }
    for name in code_in(code) {
        if !index.has(name) {
            return Some(format!("`{name}` is not defined under this path"));
        }
    }
    code_in(tests).find_map(|test| Reference::parse(test).and_then(|it| it.find(root)).err())
}

/// What stands between backquotes.
fn code_in(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let header =
            "pub struct DLDevice {\n    pub device_id: i32,\n}\npub const kDLCPU: X = 1;\n";
        assert_eq!(names_of(header).collect::<Vec<_>>(), ["DLDevice", "kDLCPU"]);
    }

    #[test]
    fn rows_that_lack_something_are_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut index = Index::default();
        index.add(&["raw".to_owned()], "fn take() {}");
        let of = |line: &str| check(&root, &rows(line).next().unwrap(), &index);
        let table = "`import/rejects.rs::null_is_rejected`";
        assert_eq!(of(&format!("| a | b | `raw::take` | {table} |")), None);
        assert!(of(&format!("| a | b | `tak` | {table} |")).unwrap().contains("`tak`"));
        assert!(
            of("| a | b | `take` | `import/rejects.rs::no_such` |").unwrap().contains("no_such")
        );
        assert!(of("| a | b | `take` | none |").unwrap().contains("no test"));
    }
}
