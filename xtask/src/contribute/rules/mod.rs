//! `cargo xtask rules`: every rule of `docs/soundness.md` has a mechanism that
//! exists and a test that exists, and every check has a mutant; every clause of
//! the standard (`docs/standard.md`) is kept by code and shown by a test; code
//! and files that a document names by their paths exist there; and the guide's pages
//! about functions are short.

mod documents;
pub(crate) mod reference;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use crate::checkout::{Checkout, Outcome, read};
use crate::context::Context;
use crate::contribute::mutants::edits::{self, Mutant};
use crate::report::{Ending, Stop};
use crate::run::Stage;
use documents::Index;
use reference::Reference;
use table::{Kind, Row};

/// The tables: the letter of their rules, and how many there are.
const TABLES: [(char, usize); 9] = [
    ('A', 24),
    ('B', 11),
    ('D', 41),
    ('F', 17),
    ('L', 32),
    ('X', 19),
    ('H', 32),
    ('E', 13),
    ('W', 9),
];

/// The placeholder for a test that is not written yet.
const TO_COME: &str = "to come";

/// Prints the problems, or the counts.
pub(crate) fn rules(checkout: &Checkout) -> Outcome {
    let problems = problems(checkout.root())?;
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("{}", summary(checkout.root())?);
        return Ok(());
    }
    Err(format!("{} problems of rules, clauses or documents; see above.", problems.len()))
}

/// The same as a step.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let root = context.checkout.root();
    let problems = problems(root)?;
    for problem in &problems {
        stage.note(problem);
    }
    if problems.is_empty() {
        stage.note(&summary(root)?);
        return Ok(());
    }
    Err(Stop::Failed(format!(
        "{} rules or clauses lack a mechanism, a test or a mutant, or documents are wrong.",
        problems.len()
    )))
}

fn summary(root: &Path) -> Outcome<String> {
    let rows = table::rows(&read(&root.join("docs/soundness.md"))?)?;
    let tests: usize = rows.iter().map(|row| row.tests.len()).sum();
    let rules: usize = rows.iter().map(|row| row.ids.len()).sum();
    let mutants = edits::all(root)?.len();
    Ok(format!("{rules} rules name {tests} tests; {mutants} mutants are kept"))
}

/// The problems, one sentence for each rule or mutant.
fn problems(root: &Path) -> Outcome<Vec<String>> {
    let rows = table::rows(&read(&root.join("docs/soundness.md"))?)?;
    let mutants = edits::all(root)?;
    let index = Index::read(root)?;
    let mut problems = missing(&rows);
    for row in &rows {
        if let Err(problem) = check_row(root, row, &index, &mutants) {
            problems.push(format!("{}: {problem}", row.name()));
        }
    }
    for mutant in &mutants {
        if let Err(problem) = check_mutant(root, mutant, &rows) {
            problems.push(format!("the mutant \"{}\": {problem}", mutant.title()));
        }
    }
    problems.extend(documents::problems_of_the_standard(root, &index)?);
    problems.extend(documents::problems(root, &index)?);
    Ok(problems)
}

/// Rules without a row, and rows without a rule.
fn missing(rows: &[Row]) -> Vec<String> {
    let mut wanted: BTreeMap<String, usize> = TABLES
        .iter()
        .flat_map(|&(letter, last)| (1..=last).map(move |number| (format!("{letter}{number}"), 0)))
        .collect();
    let mut problems = Vec::new();
    for id in rows.iter().flat_map(|row| &row.ids) {
        match wanted.get_mut(id) {
            Some(count) => *count += 1,
            None => problems.push(format!("{id}: cargo xtask rules has no such rule")),
        }
    }
    for (id, count) in wanted {
        match count {
            0 => problems.push(format!("{id}: it has no row")),
            1 => {}
            _ => problems.push(format!("{id}: it has {count} rows")),
        }
    }
    problems
}

fn check_row(root: &Path, row: &Row, index: &Index, mutants: &[Mutant]) -> Result<(), String> {
    if row.threat.is_empty() {
        return Err("it does not say what the threat is".to_owned());
    }
    let kinds = row.kinds()?;
    if row.tests == [TO_COME] {
        return Err(format!("it has no test yet, nor a mechanism ({})", row.mechanism));
    }
    if kinds.contains(&Kind::Trusted) {
        return if row.tests.is_empty() {
            Ok(())
        } else {
            Err("what is trusted has no test; name its mechanism".to_owned())
        };
    }
    if row.tests.is_empty() {
        return Err("it has no test".to_owned());
    }
    for test in &row.tests {
        Reference::parse(test)?.find(root)?;
    }
    if kinds.contains(&Kind::Check) {
        let name = row.checked_by().ok_or("its check names no function")?;
        if !index.has(name) {
            return Err(format!("its check, `{name}`, is not defined under this path"));
        }
        let has_mutant = |id| mutants.iter().any(|mutant| mutant.rules.contains(id));
        if !row.ids.iter().all(has_mutant) {
            return Err("its check has no mutant in quality/mutants/edits".to_owned());
        }
    }
    Ok(())
}

fn check_mutant(root: &Path, mutant: &Mutant, rows: &[Row]) -> Result<(), String> {
    for rule in &mutant.rules {
        let row = rows.iter().find(|row| row.ids.contains(rule));
        let row = row.ok_or_else(|| format!("there is no rule {rule}"))?;
        if !row.tests.contains(&mutant.test) {
            return Err(format!("{rule} does not name the test {}", mutant.test));
        }
    }
    Reference::parse(&mutant.test)?.find(root)?;
    mutant.apply(root).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_lacks_something_is_named() {
        let row = |line: &str| table::rows(line).unwrap().remove(0);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut index = Index::default();
        index.add(&["raw"], "fn take() {}");
        let check = |line: &str| check_row(&root, &row(line), &index, &[]).unwrap_err();
        assert!(check("| F1 | x | check: `take` | |").contains("no test"));
        assert!(check("| F1 | x | check: `take` | to come |").contains("no test yet"));
        assert!(check("| F1 | x | luck | `a.rs::b` |").contains("luck"));
        assert!(check("| F1 | x | type: y | `import/rejects.rs::no_such` |").contains("no_such"));
        assert!(check("| F1 | x | type: y | `ui/no/such.rs` |").contains("ui/no/such.rs"));
        assert!(check("| F1 | x | type: y | `test_exit.py::test_nothing` |").contains("nothing"));
        let table = "`import/rejects.rs::null_is_rejected`";
        assert!(check(&format!("| F1 | x | check: `tak` | {table} |")).contains("`tak`"));
        assert!(check(&format!("| F1 | x | check: `raw::take` | {table} |")).contains("mutant"));
        assert!(check(&format!("| F1 | x | trusted: y | {table} |")).contains("trusted"));
        let good = row(&format!("| F1 | x | type: y | {table} |"));
        assert_eq!(check_row(&root, &good, &index, &[]), Ok(()));
        let all: usize = TABLES.iter().map(|table| table.1).sum();
        assert_eq!(missing(&[good]).len(), all - 1);
    }
}
