//! The output of `cargo mutants --list --json`.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

/// One mistake.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// The path from the root on.
    pub(crate) file: String,
    /// The path with line and column, and the replaced text.
    pub(crate) name: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    pub(crate) span: Span,
    /// The line on which it begins, without indentation.
    #[serde(skip)]
    pub(crate) line: String,
    /// Whether it may be evaluated at compile time: in a constant, or in a `const fn`.
    #[serde(skip)]
    pub(crate) constant: bool,
    /// Why it is not one of those that ran.
    #[serde(skip)]
    pub(crate) unviable: bool,
}

/// The kind of a mutant.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// Where in the file.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
    pub(crate) end: Place,
}

/// From 1 on, in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Mutant {
    /// The replaced text, without its location.
    pub(crate) fn what(&self) -> &str {
        // file:line:column: replaced text
        self.name.splitn(4, ':').nth(3).unwrap_or(&self.name).trim()
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Mutant>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read ({error}).", path.display()))?;
    let mut mutants: Vec<Mutant> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}.", path.display()))?;
    // A file of two modules is listed twice.
    let mut seen = HashSet::new();
    mutants.retain(|mutant| seen.insert(mutant.name.clone()));
    Ok(mutants)
}
