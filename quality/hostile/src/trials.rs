//! All cases as one list: [`trials`].

use crate::case::rules_and_name;
use crate::{
    Case, Clause, Duty, Oddity, TableCase, borderline, malformed, oddities, on_devices,
    other_majors, tables,
};

/// The input of an importer.
#[derive(Clone, Debug)]
pub enum Given {
    /// A struct.
    Struct {
        /// The metadata of the struct.
        case: Case,
        /// Whether it is the legacy one.
        legacy: bool,
        /// Whether it has a deleter.
        deleter: bool,
        /// Whether it ends behind its deleter.
        head: bool,
    },
    /// A sound struct, legacy or not, in an odd object.
    Object(Oddity, bool),
    /// An object whose type has a table, or another value instead of one.
    Table(TableCase),
}

/// One case for one importer.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its name, which no other has.
    pub name: String,
    /// The rules of `docs/soundness.md` that it is for.
    pub rules: Vec<String>,
    /// The clause of the standard.
    pub clause: Clause,
    /// What a consumer must do.
    pub duty: Duty,
    /// The input.
    pub given: Given,
    /// What this project's importers raise, if they do: the exception, and its text or a
    /// part of it.
    pub ours: Option<(&'static str, String)>,
}

impl Trial {
    fn of_struct(case: Case, legacy: bool, deleter: bool, head: bool) -> Self {
        let (rules, name) = rules_and_name(&case.words);
        let kind = if legacy { "legacy" } else { "struct" };
        let without = if deleter { "" } else { ", no deleter" };
        Self {
            name: format!("{kind}: {name}{without}"),
            rules,
            clause: if deleter { case.clause } else { Clause::Deleter },
            duty: case.duty,
            ours: case.error.map(|error| ("BufferError", error.to_string())),
            given: Given::Struct { case, legacy, deleter, head },
        }
    }
}

/// All cases, each name once.
pub fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    let cases = || malformed().into_iter().chain(borderline()).chain(on_devices());
    all.extend(other_majors().into_iter().map(|case| Trial::of_struct(case, false, true, true)));
    all.extend(cases().map(|case| Trial::of_struct(case, false, true, false)));
    let both = cases().filter(|case| !case.versioned_only);
    all.extend(both.map(|case| Trial::of_struct(case, true, true, false)));
    // L1, L4: without a deleter there is nothing to call, and nothing else changes. 16
    // numbers have the alignment that consumers which copy misaligned memory require.
    let some = |case: &Case| {
        let names = [
            "an ordinary one",
            "16 numbers",
            "shape [-1]",
            "dtype (0, 0, 1)",
            "[0, 3] at NULL + 0x0",
        ];
        names.contains(&case.name())
    };
    for legacy in [false, true] {
        all.extend(cases().filter(some).map(|case| Trial::of_struct(case, legacy, false, false)));
    }
    for legacy in [false, true] {
        for case in oddities() {
            // A consumer that does not pass `max_version` does not support the versioned
            // struct.
            if case.oddity == Oddity::KnowsStreamOnly && !legacy {
                continue;
            }
            let (rules, name) = rules_and_name(case.words);
            let kind = if legacy { "legacy object" } else { "object" };
            all.push(Trial {
                name: format!("{kind}: {name}"),
                rules,
                clause: case.clause,
                duty: case.duty,
                given: Given::Object(case.oddity, legacy),
                ours: case.ours.map(|[kind, text]| (kind, text.to_owned())),
            });
        }
    }
    for case in tables() {
        let (rules, name) = rules_and_name(&case.words);
        all.push(Trial {
            name: format!("table: {name}"),
            rules,
            clause: case.clause,
            duty: case.duty,
            ours: case.ours.map(|[kind, text]| (kind, text.to_owned())),
            given: Given::Table(case),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "plain data, in which Miri has nothing to see")]
    fn names_are_unique() {
        let all = trials();
        let names: HashSet<_> = all.iter().map(|trial| trial.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 300, "only {} cases", all.len());
    }

    /// This project refuses what must be refused, and accepts what must be accepted.
    #[test]
    #[cfg_attr(miri, ignore = "plain data, in which Miri has nothing to see")]
    fn this_project_meets_every_duty() {
        for trial in trials() {
            match trial.duty {
                Duty::Refuse => assert!(trial.ours.is_some(), "{}", trial.name),
                Duty::Accept => assert!(trial.ours.is_none(), "{}", trial.name),
                Duty::May | Duty::Undefined => {}
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "plain data, in which Miri has nothing to see")]
    fn expected_values_follow_the_layout() {
        let values = |words: &str| {
            let mut cases = borderline().into_iter();
            cases.find(|case| case.name() == words).expect(words).values()
        };
        assert_eq!(values("an ordinary one"), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(values("rows backwards"), Some(vec![3, 4, 5, 0, 1, 2]));
        assert_eq!(values("by columns"), Some(vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(values("strides that are never used"), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(values("an offset to the last"), Some(vec![5]));
        assert_eq!(values("as many as can be, in one byte"), None);
        assert_eq!(values("packed elements"), None);
        assert_eq!(values("[0, 3] at NULL + 0x0"), Some(vec![]));
    }
}
