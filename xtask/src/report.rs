//! Named steps, how each ended, and the closing table.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::checkout::{Checkout, Outcome};
use crate::run::{Screen, Stage};

/// How a step ended.
pub(crate) type Ending = Result<(), Stop>;

/// Why a step did not pass.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What it checks does not hold, and what to do.
    Failed(String),
    /// It could not run here, and why.
    Skipped(String),
}

impl From<String> for Stop {
    fn from(sentence: String) -> Self {
        Self::Failed(sentence)
    }
}

/// The ending of a step that cannot run because `tool` is missing: a failure
/// where `DLPACK_REQUIRE` names the tool.
pub(crate) fn missing(tool: &str, reason: String) -> Ending {
    missing_any(&[tool], reason)
}

/// The ending of a step that is about several things: a failure where
/// `DLPACK_REQUIRE` names one of them.
pub(crate) fn missing_any(tools: &[&str], reason: String) -> Ending {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    Err(stop_without(tools, &required, reason))
}

/// How a step stops without `tools`, where `required` may not be skipped.
fn stop_without(tools: &[&str], required: &str, reason: String) -> Stop {
    let mut required = required.split(',').map(str::trim);
    match required.find(|name| tools.contains(name)) {
        Some(name) => {
            let reason = reason.trim_end_matches('.');
            Stop::Failed(format!("DLPACK_REQUIRE names {name}, but {reason}."))
        }
        None => Stop::Skipped(reason),
    }
}

/// The steps that ran.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    result: &'static str,
    remark: String,
    seconds: f64,
}

impl Report {
    /// Runs one step: `number` of `total`.
    pub(crate) fn step(
        &mut self,
        (checkout, screen): (&Checkout, Screen),
        (number, total): (usize, usize),
        name: &'static str,
        body: impl FnOnce(&mut Stage) -> Ending,
    ) -> Outcome {
        let heading = format!("[{number:>2}/{total}] {name}");
        let mut stage = Stage::begin_on(checkout, &heading, name, screen)?;
        let ending = body(&mut stage);
        let log = stage.logged();
        let (result, remark) = match ending {
            Ok(()) => ("passed", String::new()),
            Err(Stop::Skipped(reason)) => ("skipped", reason),
            Err(Stop::Failed(sentence)) => {
                stage.print_tail();
                ("failed", sentence)
            }
        };
        for line in closing_lines(&log) {
            stage.note(&line);
        }
        let seconds = stage.seconds();
        let colon = if remark.is_empty() { "" } else { ": " };
        let loud = if result == "passed" { result.to_owned() } else { result.to_uppercase() };
        stage.note(&format!("{loud} in {seconds:.1} s{colon}{remark}"));
        stage.release();
        self.rows.push(Row { name, result, remark, seconds });
        Ok(())
    }

    /// Appends the steps of another report.
    pub(crate) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// Whether any step failed.
    pub(crate) fn any_failed(&self) -> bool {
        self.count("failed") > 0
    }

    /// The aligned table of all steps; its last line counts them.
    pub(crate) fn table(&self) -> String {
        let names = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
        let mut table = format!("\n{:names$}  {:7}  {:>7}\n", "step", "result", "seconds");
        for row in &self.rows {
            let line = format!(
                "{:names$}  {:7}  {:>7.1}  {}",
                row.name, row.result, row.seconds, row.remark
            );
            table += line.trim_end();
            table.push('\n');
        }
        table
            + &format!(
                "\n{} passed, {} failed, {} skipped",
                self.count("passed"),
                self.count("failed"),
                self.count("skipped")
            )
    }

    fn count(&self, result: &str) -> usize {
        self.rows.iter().filter(|row| row.result == result).count()
    }
}

/// The lines by which cargo's and pytest's test runs say how they ended, and one that counts what
/// they left out, by reason.
fn closing_lines(log: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut skipped = BTreeMap::<&str, usize>::new();
    for line in log.lines() {
        let cargo =
            line.starts_with("test result:") && !line.contains(" 0 passed; 0 failed; 0 ignored");
        let pytest = line.starts_with("==") && line.ends_with("==") && line.contains(" in ");
        if cargo || pytest {
            lines.push(line.to_owned());
        } else if let Some((count, reason)) = skip(line) {
            *skipped.entry(reason).or_default() += count;
        }
    }
    if !skipped.is_empty() {
        let mut reasons: Vec<_> = skipped.into_iter().collect();
        reasons.sort_by_key(|&(_, count)| Reverse(count));
        let total: usize = reasons.iter().map(|(_, count)| count).sum();
        let reasons: Vec<_> =
            reasons.into_iter().map(|(reason, count)| format!("{count}: {reason}")).collect();
        lines.push(format!("SKIPPED {total} tests ({})", reasons.join("; ")));
    }
    lines
}

/// The number of tests and the reason in a line `SKIPPED [3] tests/python/test_x.py:7: reason`.
fn skip(line: &str) -> Option<(usize, &str)> {
    let (count, rest) = line.strip_prefix("SKIPPED [")?.split_once("] ")?;
    let reason = rest.split_once(": ").map_or(rest, |(_, reason)| reason);
    Some((count.parse().ok()?, reason))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_required_fails_and_the_rest_is_skipped() {
        let stop = |required| {
            let reason = "there is no lavapipe".to_owned();
            match stop_without(&["vulkan", "webgpu"], required, reason) {
                Stop::Failed(sentence) => ("failed", sentence),
                Stop::Skipped(sentence) => ("skipped", sentence),
            }
        };
        for required in ["", "numpy,torch", "vulkan2"] {
            assert_eq!(stop(required), ("skipped", "there is no lavapipe".to_owned()));
        }
        for (required, name) in [("numpy, webgpu", "webgpu"), ("vulkan,webgpu", "vulkan")] {
            let sentence = format!("DLPACK_REQUIRE names {name}, but there is no lavapipe.");
            assert_eq!(stop(required), ("failed", sentence));
        }
    }

    /// pytest gets the caller's `DLPACK_REQUIRE` too, and rejects names that it does not know.
    #[test]
    fn pytest_accepts_the_names_of_tools() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
        let known = read("tests/python/conftest.py");
        let mut names: Vec<String> = [read(".ci/run"), read(".ci/scheduled")]
            .join("\n")
            .lines()
            .filter_map(|line| line.split_once('=').filter(|(name, _)| !name.contains(' ')))
            .flat_map(|(_, names)| names.split(',').map(str::to_owned).collect::<Vec<_>>())
            .filter(|name| !name.contains('$'))
            .collect();
        assert!(names.len() > 10, "{names:?}");
        let mut left = vec![root.join("xtask/src")];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).expect("text");
                let calls = source.split("missing(").skip(1).map(str::trim_start);
                let literals = calls.filter_map(|call| call.strip_prefix('"')?.split_once('"'));
                let is_name =
                    |name: &&str| name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
                names.extend(literals.map(|(name, _)| name).filter(is_name).map(str::to_owned));
            }
        }
        assert!(names.iter().any(|name| name == "no_std"), "{names:?}");
        for name in names {
            assert!(known.contains(&format!("\"{name}\"")), "conftest.py does not know {name}");
        }
    }

    #[test]
    fn the_table_is_aligned_and_its_last_line_counts() {
        let row = |name, result, remark: &str, seconds| Row {
            name,
            result,
            remark: remark.to_owned(),
            seconds,
        };
        let report = Report {
            rows: vec![
                row("rust tests", "passed", "", 12.34),
                row("miri", "skipped", "no nightly", 0.1),
                row("docs", "failed", "`cargo doc` failed.", 100.0),
            ],
        };
        let expected = "
step        result   seconds
rust tests  passed      12.3
miri        skipped      0.1  no nightly
docs        failed     100.0  `cargo doc` failed.

1 passed, 1 failed, 1 skipped";
        assert_eq!(report.table(), expected);
        assert!(report.any_failed());
    }

    #[test]
    fn closing_lines_are_those_of_runs_that_ran_something() {
        let log = "running 2 tests\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n\
            test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n\
            SKIPPED [1] tests/python/test_jax.py:3: jax is missing\n\
            SKIPPED [2] tests/python/test_torch.py:9: torch is missing\n\
            SKIPPED [4] tests/python/conftest.py:8: jax is missing\n\
            ===== 5 passed, 7 skipped in 2.10s =====\n\
            ===== test session starts =====\n";
        let expected = [
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured",
            "===== 5 passed, 7 skipped in 2.10s =====",
            "SKIPPED 7 tests (5: jax is missing; 2: torch is missing)",
        ];
        assert_eq!(closing_lines(log), expected);
    }
}
