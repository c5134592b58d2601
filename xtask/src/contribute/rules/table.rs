//! The rows of the rule tables in `docs/soundness.md`.

/// One rule, or several with one mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The rules, such as `L3` and `H30`.
    pub(crate) ids: Vec<String>,
    pub(crate) threat: String,
    pub(crate) mechanism: String,
    /// The test that the last column names, or its text.
    pub(crate) tests: Vec<String>,
}

/// The kind of mechanism that enforces a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Types: code that breaks the rule does not compile.
    Type,
    /// A check at run time.
    Check,
    /// A `# Safety` list.
    Contract,
    /// No mechanism enforces it.
    Trusted,
}

impl Row {
    /// The kinds before the first colon of the mechanism.
    pub(crate) fn kinds(&self) -> Result<Vec<Kind>, String> {
        let (kinds, reason) = self.mechanism.split_once(':').unwrap_or((&self.mechanism, ""));
        if reason.trim().is_empty() {
            return Err(format!("its mechanism does not say how: `{}`", self.mechanism));
        }
        let kind = |word: &str| match word.trim() {
            "type" => Ok(Kind::Type),
            "check" => Ok(Kind::Check),
            "contract" => Ok(Kind::Contract),
            "trusted" => Ok(Kind::Trusted),
            other => Err(format!("`{other}` is not a kind of mechanism")),
        };
        kinds.split(',').map(kind).collect()
    }

    /// The rules, for messages.
    pub(crate) fn name(&self) -> String {
        self.ids.join(", ")
    }

    /// The first name in the mechanism.
    pub(crate) fn checked_by(&self) -> Option<&str> {
        self.mechanism.split('`').nth(1)
    }
}

/// All rows whose first cell contains rules, each a letter and a number, in all tables that
/// have the columns of a rule.
pub(crate) fn rows(text: &str) -> Result<Vec<Row>, String> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Result<Row, String>> {
    let cells = line.strip_prefix("| ")?.trim_end().strip_suffix('|')?;
    let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
    let id = *cells.first()?;
    let ids: Vec<&str> = id.split(", ").collect();
    if !ids.iter().all(|id| is_rule(id)) {
        return None;
    }
    let [_, threat, mechanism, tests] = cells[..] else {
        return Some(Err(format!("docs/soundness.md: the row of {id} has not four columns.")));
    };
    let tests = tests.split(", ").filter(|test| !test.is_empty());
    Some(Ok(Row {
        ids: ids.into_iter().map(str::to_owned).collect(),
        threat: threat.to_owned(),
        mechanism: mechanism.to_owned(),
        tests: tests.map(|test| test.trim_matches('`').to_owned()).collect(),
    }))
}

fn is_rule(id: &str) -> bool {
    let Some((letter, number)) = id.split_at_checked(1) else { return false };
    "ABDEFHLWX".contains(letter) && number.parse::<usize>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let text = "| # | rule | kept by |\n|---|---|---|\n| R1 | x | y |\n\
            | F4 | a rank | check, type: `raw::take`, early | `a.rs::b`, `c.py::d` |\n";
        let rows = rows(text).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((&*rows[0].name(), &*rows[0].threat), ("F4", "a rank"));
        assert_eq!(rows[0].kinds(), Ok(vec![Kind::Check, Kind::Type]));
        assert_eq!(rows[0].checked_by(), Some("raw::take"));
        assert_eq!(rows[0].tests, ["a.rs::b", "c.py::d"]);
        assert!(super::rows("| F4 | x | y |").is_err());
        let both = super::rows("| L3, H30 | x | type: y | `a.rs::b` |\n").unwrap();
        assert_eq!(both[0].ids, ["L3", "H30"]);
        assert_eq!(super::rows("| L3, R1 | x | type: y | `a.rs::b` |\n"), Ok(vec![]));
    }
}
