//! Steps as data, and how lists of them run.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::checkout::target;
use crate::command::cargo;
use crate::context::{Context, modules};
use crate::environment::{self, Packages};
use crate::modules::Profile;
use crate::outcome::{Ending, Outcome, Stop};
use crate::stage::{Screen, Stage};

/// A named check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    work: Work,
    /// What only this step builds, below `target/`.
    built: &'static [&'static str],
}

/// The work of a step.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Command lines of cargo, one after the other.
    Cargo(&'static [&'static str]),
    /// Command lines of cargo that each run tests.
    Tests(&'static [&'static str]),
    /// Files in `tests/python`, run by pytest in an environment of its own with the modules that were
    /// built for the first one.
    Pytest(&'static Packages, &'static str),
    /// A function.
    Run(fn(&Context) -> Ending),
}

pub(crate) const fn cargo_step(name: &'static str, lines: &'static [&'static str]) -> Step {
    Step { name, work: Work::Cargo(lines), built: &[] }
}

pub(crate) const fn tests(name: &'static str, lines: &'static [&'static str]) -> Step {
    Step { name, work: Work::Tests(lines), built: &[] }
}

pub(crate) const fn pytest(
    name: &'static str,
    packages: &'static Packages,
    files: &'static str,
) -> Step {
    Step { name, work: Work::Pytest(packages, files), built: &[] }
}

pub(crate) const fn step(name: &'static str, run: fn(&Context) -> Ending) -> Step {
    Step { name, work: Work::Run(run), built: &[] }
}

impl Step {
    /// In CI the folders below `target/` that this step has built, and no other one uses, are removed
    /// at its end: all of it takes more than a small disk has, and nothing is built twice there.
    pub(crate) const fn builds(mut self, folders: &'static [&'static str]) -> Self {
        self.built = folders;
        self
    }

    fn run(&self, context: &Context) -> Ending {
        match self.work {
            Work::Cargo(lines) => {
                lines.iter().try_for_each(|line| context.run(&mut cargo(line)))?;
            }
            Work::Tests(lines) => {
                lines.iter().try_for_each(|line| context.run_tests(&mut cargo(line)))?;
            }
            Work::Pytest(packages, files) => {
                context.modules()?;
                let environment = environment::ensure(context, packages)?;
                let files: Vec<_> =
                    files.split_whitespace().map(|file| format!("tests/python/{file}")).collect();
                let mut command = environment.pytest("", "");
                // Other processes find the modules there too.
                command.env("PYTHONPATH", modules()).env("DLPACK_PYTHON_MODULES", modules());
                context.run(command.args(files))?;
            }
            Work::Run(run) => run(context)?,
        }
        if std::env::var_os("CI").is_some() {
            for folder in self.built {
                // What is left takes space, and harms nothing.
                _ = std::fs::remove_dir_all(target(folder));
            }
        }
        Ok(())
    }
}

/// The steps whose names contain `part`: all of them without a part.
pub(crate) fn named(steps: &[Step], part: Option<&str>) -> Vec<Step> {
    let part = part.unwrap_or_default();
    steps.iter().filter(|step| step.name.contains(part)).copied().collect()
}

/// As [`named`], and an error that names all steps where there is none.
pub(crate) fn some_named(steps: &[Step], part: Option<&str>) -> Outcome<Vec<Step>> {
    let chosen = named(steps, part);
    if chosen.is_empty() {
        let (part, names) = (part.unwrap_or_default(), steps.iter().map(|step| step.name));
        let names: Vec<_> = names.collect();
        return Err(format!("no step has `{part}` in its name; there are: {}.", names.join("; ")));
    }
    Ok(chosen)
}

/// The result of a step.
#[derive(Debug)]
struct Row {
    name: &'static str,
    result: &'static str,
    remark: String,
    seconds: f64,
}

/// Runs one command as a stage of its own; what its programs show is on the screen.
pub(crate) fn run_command(
    name: &str,
    packages: &'static Packages,
    body: impl FnOnce(&Context) -> Ending,
) -> Outcome<ExitCode> {
    let context =
        Context::new(Stage::begin(name, name, Screen::Shown)?, packages, Profile::Release);
    let ending = body(&context);
    let (result, _) = end(&context, ending);
    Ok(if result == "failed" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs steps one after the other, with modules as users compile them.
pub(crate) fn run(steps: &[Step], packages: &'static Packages) -> Outcome<ExitCode> {
    run_lists([steps, &[]], packages, Profile::Release)
}

/// Runs two lists of steps at the same time, each one after the other.
pub(crate) fn run_lists(
    lists: [&[Step]; 2],
    packages: &'static Packages,
    profile: Profile,
) -> Outcome<ExitCode> {
    let (begun, total) = (AtomicUsize::new(0), lists[0].len() + lists[1].len());
    let run_list = |steps: &[Step], screen| -> Outcome<Vec<Row>> {
        let mut rows = Vec::new();
        let mut context: Option<Context> = None;
        for step in steps {
            let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
            let heading = format!("[{number:>2}/{total}] {}", step.name);
            let stage = Stage::begin(&heading, step.name, screen)?;
            let context = match &mut context {
                Some(context) => {
                    context.stage = stage;
                    context
                }
                none => none.insert(Context::new(stage, packages, profile)),
            };
            let ending = step.run(context);
            let (result, remark) = end(context, ending);
            rows.push(Row { name: step.name, result, remark, seconds: context.seconds() });
        }
        Ok(rows)
    };
    let rows = if lists.iter().any(|list| list.is_empty()) {
        run_list(&lists.concat(), Screen::Direct)?
    } else {
        thread::scope(|scope| {
            let beside = scope.spawn(|| run_list(lists[1], Screen::Held));
            let mut rows = run_list(lists[0], Screen::Direct)?;
            rows.extend(beside.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            Ok::<_, String>(rows)
        })?
    };
    println!("{}", table(&rows));
    let failed = rows.iter().any(|row| row.result == "failed");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints how a stage ended. Returns the result, and a remark about it.
fn end(stage: &Stage, ending: Ending) -> (&'static str, String) {
    let (result, remark) = match ending {
        Ok(()) => ("passed", String::new()),
        Err(Stop::Skipped(reason)) => ("skipped", reason),
        Err(Stop::Failed(sentence)) => {
            stage.print_tail();
            ("failed", sentence)
        }
    };
    for line in closing_lines(&stage.logged()) {
        stage.note(line);
    }
    let loud = if result == "passed" { result.to_owned() } else { result.to_uppercase() };
    let colon = if remark.is_empty() { "" } else { ": " };
    stage.note(format!("{loud} in {:.1} s{colon}{remark}", stage.seconds()));
    stage.release();
    (result, remark)
}

/// The aligned table of all steps; its last line counts them.
fn table(rows: &[Row]) -> String {
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
    let mut table = format!("\n{:names$}  {:7}  {:>7}\n", "step", "result", "seconds");
    for Row { name, result, remark, seconds } in rows {
        let line = format!("{name:names$}  {result:7}  {seconds:>7.1}  {remark}");
        table.extend([line.trim_end(), "\n"]);
    }
    let count = |result: &str| rows.iter().filter(|row| row.result == result).count();
    let counts =
        ["passed", "failed", "skipped"].map(|result| format!("{} {result}", count(result)));
    format!("{table}\n{}", counts.join(", "))
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
    use super::*;
    use crate::environment::BASE;

    #[test]
    fn both_lists_run_and_a_failure_of_either_counts() {
        let ending_of = |first, second| {
            let lists: [&[Step]; 2] = [&[step("a list", first)], &[step("beside", second)]];
            run_lists(lists, &BASE, Profile::Dev).unwrap()
        };
        let passing: fn(&Context) -> Ending = |_| Ok(());
        let failing: fn(&Context) -> Ending = |_| Err("it fails".into());
        assert_eq!(ending_of(passing, passing), ExitCode::SUCCESS);
        assert_eq!(ending_of(passing, failing), ExitCode::FAILURE);
        assert_eq!(ending_of(failing, passing), ExitCode::FAILURE);
    }

    #[test]
    fn the_table_is_aligned_and_its_last_line_counts() {
        let row = |name, result, remark: &str| Row {
            name,
            result,
            remark: remark.to_owned(),
            seconds: 12.34,
        };
        let rows = [row("rust tests", "passed", ""), row("miri", "skipped", "no nightly")];
        let expected = "
step        result   seconds
rust tests  passed      12.3
miri        skipped     12.3  no nightly

1 passed, 0 failed, 1 skipped";
        assert_eq!(table(&rows), expected);
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
