//! `cargo xtask rules`: each rule of `docs/soundness.md` names a test that exists, and each check
//! has a mutant; each clause of `docs/standard.md` names code and a test; the code, files and links
//! in documents exist; and the cells of tables are short.

pub(crate) mod edits;
pub(crate) mod reference;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::checkout::{files_below, has_extension, read};
use crate::outcome::Outcome;
use edits::{Mutant, is_rule};
use reference::Test;

/// The maximum number of words in the cell of a table.
const MOST_WORDS: usize = 25;
/// Beginnings of paths into the standard library and other projects.
const OUTSIDE: [&str; 9] =
    ["Box", "isize", "serde", "sycl", "bytes", "Bytes", "Buffer", "image", "metadata"];
/// What stands before the name of a definition.
const DEFINITIONS: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "mod", "const", "static"];
/// Kinds of mechanisms: types, a check at run time, a `# Safety` list, none.
const KINDS: [&str; 4] = ["type", "check", "contract", "trusted"];

/// Returns the problems, a sentence for each, and a summary.
pub(crate) fn check(root: &Path) -> Outcome<(Vec<String>, String)> {
    let rows = rows(&read(&root.join("docs/soundness.md"))?)?;
    let mutants = edits::all(root)?;
    let sources = Sources::read(root)?;
    let mut problems = missing(&rows);
    for row in &rows {
        let checked = check_row(root, row, &sources, &mutants);
        problems.extend(checked.err().map(|problem| format!("{}: {problem}", row.ids.join(", "))));
    }
    for mutant in &mutants {
        let checked = check_mutant(root, mutant, &rows);
        problems.extend(checked.err().map(|problem| format!("mutant {}: {problem}", mutant.title)));
    }
    let standard = read(&root.join("docs/standard.md"))?;
    for cells in standard.lines().filter_map(cells_of).filter(|cells| cells.len() == 4) {
        let checked = check_clause(root, &cells, &sources);
        problems.extend(checked.err().map(|problem| format!("{}: {problem}", cells[0])));
    }
    problems.extend(documents(root, &sources)?);
    let tests: usize = rows.iter().map(|row| row.tests.len()).sum();
    let rules: usize = rows.iter().map(|row| row.ids.len()).sum();
    let mutants = mutants.len();
    Ok((problems, format!("{rules} rules name {tests} tests; {mutants} mutants are kept")))
}

/// A rule, or several with one mechanism.
#[derive(Debug)]
struct Row {
    /// The rules, such as `L3` and `H30`.
    ids: Vec<String>,
    threat: String,
    mechanism: String,
    tests: Vec<String>,
}

/// The cells of a row of a table.
fn cells_of(line: &str) -> Option<Vec<&str>> {
    let cells = line.strip_prefix("| ")?.trim_end().strip_suffix('|')?;
    Some(cells.split(" |").map(str::trim).collect())
}

/// The rows whose first cell contains rules.
fn rows(text: &str) -> Outcome<Vec<Row>> {
    let cells = text.lines().filter_map(cells_of);
    let rules = cells.filter(|cells| cells[0].split(", ").all(is_rule));
    let row = |cells: Vec<&str>| {
        let [ids, threat, mechanism, tests] = cells[..] else {
            return Err(format!("docs/soundness.md: the row of {} has not four cells.", cells[0]));
        };
        let tests = tests.split(", ").filter(|test| !test.is_empty());
        Ok(Row {
            ids: ids.split(", ").map(str::to_owned).collect(),
            threat: threat.to_owned(),
            mechanism: mechanism.to_owned(),
            tests: tests.map(|test| test.trim_matches('`').to_owned()).collect(),
        })
    };
    rules.map(row).collect()
}

/// Rules without a row between others, and rules with two.
fn missing(rows: &[Row]) -> Vec<String> {
    let mut numbers = BTreeMap::<&str, BTreeSet<usize>>::new();
    let mut problems = Vec::new();
    for id in rows.iter().flat_map(|row| &row.ids) {
        let (letter, number) = id.split_at(1);
        if !numbers.entry(letter).or_default().insert(number.parse().unwrap_or_default()) {
            problems.push(format!("{id}: it has two rows"));
        }
    }
    for (letter, numbers) in numbers {
        let last = numbers.last().copied().unwrap_or_default();
        let absent = (1..=last).filter(|number| !numbers.contains(number));
        problems.extend(absent.map(|number| format!("{letter}{number}: it has no row")));
    }
    problems
}

fn check_row(root: &Path, row: &Row, sources: &Sources, mutants: &[Mutant]) -> Outcome {
    let (kinds, reason) = row.mechanism.split_once(':').unwrap_or_default();
    let kinds: Vec<&str> = kinds.split(',').map(str::trim).collect();
    if row.threat.is_empty() || reason.trim().is_empty() {
        return Err("its threat or its mechanism is empty".to_owned());
    }
    if let Some(kind) = kinds.iter().find(|kind| !KINDS.contains(kind)) {
        return Err(format!("`{kind}` is not a kind of mechanism"));
    }
    if kinds.contains(&"trusted") != row.tests.is_empty() {
        return Err("it has no test, or is trusted and has one".to_owned());
    }
    for test in &row.tests {
        Test::parse(test)?.find(root)?;
    }
    if kinds.contains(&"check") {
        let name = in_backquotes(&row.mechanism).next().ok_or("its check names no function")?;
        sources.find(name)?;
        let has_mutant = |id| mutants.iter().any(|mutant| mutant.rules.contains(id));
        if !row.ids.iter().all(has_mutant) {
            return Err("its check has no mutant in quality/mutants/edits".to_owned());
        }
    }
    Ok(())
}

fn check_mutant(root: &Path, mutant: &Mutant, rows: &[Row]) -> Outcome {
    for rule in &mutant.rules {
        let row = rows.iter().find(|row| row.ids.contains(rule));
        if !row.is_some_and(|row| row.tests.contains(&mutant.named)) {
            return Err(format!("{rule} does not name the test {}", mutant.named));
        }
    }
    mutant.test.find(root)?;
    mutant.apply(root).map(drop)
}

/// Checks a row of `docs/standard.md`: the code that keeps a clause, and the tests that show it.
fn check_clause(root: &Path, cells: &[&str], sources: &Sources) -> Outcome {
    if cells[0] == "clause" || cells[0].starts_with("--") {
        return Ok(());
    }
    if cells[2..].iter().any(|cell| in_backquotes(cell).next().is_none()) {
        return Err("it names no code, or no test".to_owned());
    }
    in_backquotes(cells[2]).try_for_each(|name| sources.find(name))?;
    in_backquotes(cells[3]).try_for_each(|test| Test::parse(test)?.find(root))
}

/// The text between backquotes.
fn in_backquotes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Code, files and links in documents that do not exist, and cells of tables that are too long.
fn documents(root: &Path, sources: &Sources) -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    let files = files_below(root)?;
    let generated = [root.join("docs/generated"), root.join("docs/records")];
    for page in files.iter().filter(|path| has_extension(path, "md")) {
        let (text, folder) = (read(page)?, page.parent().unwrap_or(root));
        // Pages that commands write, and the pages about this project.
        let is_written = generated.iter().any(|folder| page.starts_with(folder));
        let is_ours = folder == root.join("docs") || *page == root.join("CONTRIBUTING.md");
        let mut in_block = false;
        for (at, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            in_block ^= is_fence;
            if in_block || is_fence {
                continue;
            }
            let mut found = Vec::new();
            let definition = line.strip_prefix('[').and_then(|rest| rest.split("]: ").nth(1));
            let links = line.split("](").skip(1).chain(definition);
            found.extend(
                links
                    .filter_map(|rest| rest.split([')', '#']).next())
                    .filter(|link| is_broken(folder, link))
                    .map(|link| format!("the link `{link}` leads nowhere")),
            );
            if !is_written && cells_of(line).is_some_and(|cells| cells.iter().any(is_long)) {
                found.push(format!("a cell of the table has more than {MOST_WORDS} words"));
            }
            for code in in_backquotes(line).filter(|_| is_ours) {
                let ends = |path: &PathBuf| path.ends_with(code);
                if is_file_name(code) && !files.iter().any(ends) {
                    found.push(format!("there is no file `{code}`"));
                }
                found.extend(path_in(code).and_then(|name| sources.find(name).err()));
            }
            let page = page.strip_prefix(root).unwrap_or(page).display();
            problems.extend(found.iter().map(|what| format!("{page}:{}: {what}", at + 1)));
        }
    }
    Ok(problems)
}

fn is_long(cell: &&str) -> bool {
    cell.split_whitespace().count() > MOST_WORDS
}

/// Whether a relative link names no file. Paths of rustdoc are not files.
fn is_broken(folder: &Path, link: &str) -> bool {
    let is_path = !link.is_empty() && link.contains(['.', '/']) && !link.contains([':', ' ', '`']);
    is_path && !has_extension(Path::new(link), "html") && !folder.join(link).exists()
}

/// Whether code is the path of a file of the project, in full or from some folder on.
fn is_file_name(code: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_known = |extension: &&str| has_extension(Path::new(code), extension);
    code.chars().all(is_path) && ["md", "py", "rs", "toml", "txt"].iter().any(is_known)
}

/// The path in `a::b`, `a::b()` or `a::b(x)`.
fn path_in(code: &str) -> Option<&str> {
    let path = code.split('(').next().unwrap_or(code);
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    (path.contains("::") && path.split("::").all(is_name)).then_some(path)
}

/// Of each source file in Rust: its words, with those of its path, and the names that it defines.
struct Sources(Vec<[HashSet<String>; 2]>);

impl Sources {
    fn read(root: &Path) -> Outcome<Self> {
        let mut files = files_below(root)?;
        files.retain(|path| has_extension(path, "rs"));
        let words = |path: &PathBuf| {
            let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('-', "_");
            Ok(Self::words(&name, &read(path)?))
        };
        files.iter().map(words).collect::<Outcome<_>>().map(Self)
    }

    fn words(name: &str, text: &str) -> [HashSet<String>; 2] {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words = |line: &str| line.split(|c| !is_word(c)).map(str::to_owned).collect::<Vec<_>>();
        let (mut all, mut defined) = (words(name), words(name));
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let names = words(line);
            let after = names.windows(2).filter(|pair| DEFINITIONS.contains(&&*pair[0]));
            defined.extend(after.map(|pair| pair[1].clone()));
            // A macro, a field, and a variant of an enum.
            defined
                .extend(line.split_once("macro_rules! ").map(|(_, rest)| words(rest)[0].clone()));
            let first = line.trim_start().trim_start_matches("pub ");
            let (first, rest) = first.split_at(first.find(|c| !is_word(c)).unwrap_or(first.len()));
            let is_variant = first.starts_with(char::is_uppercase)
                && ["", ",", "(", " {", " ="].iter().any(|end| rest.starts_with(end));
            defined.extend((is_variant || rest.starts_with(": ")).then(|| first.to_owned()));
            all.extend(names);
        }
        [all, defined].map(HashSet::from_iter)
    }

    /// Fails unless some file has all names of a path such as `raw::take` in its code or its path, and
    /// defines the last one.
    fn find(&self, path: &str) -> Outcome {
        let names: Vec<&str> = path.split("::").collect();
        let is_in = |[words, defined]: &[HashSet<String>; 2]| {
            names.iter().all(|name| words.contains(*name))
                && names.last().is_some_and(|last| defined.contains(*last))
        };
        if OUTSIDE.contains(&names[0]) || self.0.iter().any(is_in) {
            return Ok(());
        }
        Err(format!("`{path}` is not defined under this path"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_lacks_something_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let sources = Sources(vec![
            Sources::words("src/raw.rs", "fn take() { node::give() }"),
            Sources::words("src/node.rs", "pub fn give() {}"),
        ]);
        assert!(sources.find("raw::take").is_ok() && sources.find("node::give").is_ok());
        assert!(sources.find("raw::give").is_err() && sources.find("Boxed::leak").is_err());
        let check = |line: &str| {
            let rows = rows(line).unwrap();
            check_row(&root, &rows[0], &sources, &[]).err().unwrap_or_default()
        };
        assert!(check("| F1 | x | check: `take` | |").contains("no test"));
        assert!(check("| F1 | x | luck: y | `a.rs::b` |").contains("luck"));
        assert!(check("| F1 | x | type: y | `import/rejects.rs::no_such` |").contains("no_such"));
        assert!(check("| F1 | x | type: y | `ui/no/such.rs` |").contains("ui/no/such.rs"));
        let table = "`import/rejects.rs::null_is_rejected`";
        assert!(check(&format!("| F1 | x | check: `tak` | {table} |")).contains("`tak`"));
        assert!(check(&format!("| F1 | x | check: `raw::take` | {table} |")).contains("mutant"));
        assert!(check(&format!("| F1 | x | trusted: y | {table} |")).contains("trusted"));
        assert_eq!(check(&format!("| F1, L2 | x | type: y | {table} |")), "");
        let found = rows("| F1 | x | y | z |\n| F3, F3 | x | y | z |\n").unwrap();
        assert_eq!(missing(&found), ["F3: it has two rows", "F2: it has no row"]);
    }

    #[test]
    fn mistakes_in_documents_are_found() {
        assert!(
            is_broken(Path::new("."), "no/such.md") && !is_broken(Path::new("."), "src/main.rs")
        );
        assert!(is_file_name("managed/packet.rs") && !is_file_name("tests/*.txt"));
        assert_eq!(
            (path_in("a::b::C(x)"), path_in("<K>::l"), path_in("c")),
            (Some("a::b::C"), None, None)
        );
        assert!(is_long(&&*"word ".repeat(26)) && !is_long(&&*"word ".repeat(25)));
    }
}
