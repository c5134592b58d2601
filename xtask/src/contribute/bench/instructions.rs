//! `cargo xtask bench instructions`: how many instructions the hot paths take, and
//! the step of `test --full` that does not let that change unseen.
//!
//! Counted is what this project's code does, not what `malloc` and `memcpy` do: which
//! of those a C library chooses depends on the processor. Counts of another compiler
//! than the record's are printed and compared with nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::checkout::{Checkout, Outcome};
use crate::context::Context;
use crate::quality::valgrind;
use crate::report::{Ending, missing};
use crate::run::{Stage, answer_of, cargo};

/// The recorded counts, below a line that names the compiler.
const RECORD: &str = "quality/instructions/record.txt";
const PACKAGE: &str = "dlpack-instructions";
/// The function in whose calls instructions are counted.
const MEASURED: &str = "*measured*";
/// The tolerance of a count in percent; a larger change must be recorded.
const TOLERANCE: f64 = 3.0;

/// Counts per operation, by the names of rows.
type Counts = BTreeMap<String, f64>;

/// The step of `test --full`.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    if let Err(reason) = valgrind::install(stage) {
        return missing("valgrind", reason);
    }
    Ok(run(&context.checkout, stage)?)
}

/// `cargo xtask bench instructions`.
pub(crate) fn bench(checkout: &Checkout) -> Outcome {
    let mut stage = Stage::begin(checkout, "instructions of the hot paths", "instructions")?;
    valgrind::install(&mut stage)?;
    run(checkout, &mut stage)?;
    stage.done("counted");
    Ok(())
}

fn run(checkout: &Checkout, stage: &mut Stage) -> Outcome {
    let target = checkout.target().join("instructions");
    let mut build = cargo(checkout);
    build
        .args(["build", "--release", "--locked", "--package", PACKAGE, "--target-dir"])
        .arg(&target)
        // One codegen unit, because inlining must not depend on how a crate is split.
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS");
    stage.run(&mut build)?;
    let program = target.join("release").join(PACKAGE);
    let counts = count(&program, &target, stage)?;
    let compiler = compiler()?;
    write_json(&checkout.target().join("bench"), &compiler, &counts)?;
    let path = checkout.root().join(RECORD);
    let record = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("DLPACK_BLESS").is_some() {
        let text = with(&record, &compiler, &counts);
        std::fs::write(&path, text).map_err(|error| format!("{RECORD}: {error}."))?;
        stage.note(&format!("the counts were written to {RECORD}"));
        return Ok(());
    }
    let verdict = compare(recorded(&record, &compiler).as_ref(), &counts);
    for line in &verdict.lines {
        stage.note(line);
    }
    match verdict.changed {
        _ if !verdict.known => {
            stage.note(&format!("{RECORD} has no counts of `{compiler}`, so nothing is compared"));
            Ok(())
        }
        0 => Ok(()),
        changed => Err(format!(
            "{changed} hot paths take other numbers of instructions than {RECORD} says, by more \
             than {TOLERANCE} %; where that is meant, commit what `DLPACK_BLESS=1 cargo xtask \
             bench instructions` writes."
        )),
    }
}

/// The compiler and its target: the counts depend on both.
fn compiler() -> Outcome<String> {
    let told = answer_of("rustc", &["-vV"]).ok_or("rustc does not say its version.")?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("unknown host");
    Ok(format!("{}, {host}", told.lines().next().unwrap_or("unknown rustc")))
}

fn count(program: &Path, folder: &Path, stage: &mut Stage) -> Outcome<Counts> {
    let program_name = program.to_string_lossy().into_owned();
    let list = answer_of(&program_name, &[]).ok_or("the rows cannot be listed.")?;
    let mut lines = list.lines();
    let times: f64 = lines.next().and_then(|times| times.parse().ok()).ok_or("no rows.")?;
    let mut counts = Counts::new();
    for row in lines {
        let out = folder.join("callgrind.out");
        let mut command = Command::new("valgrind");
        command
            .arg("--tool=callgrind")
            .arg(format!("--toggle-collect={MEASURED}"))
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(program)
            .arg(row);
        stage.run(&mut command)?;
        let profile = std::fs::read_to_string(&out)
            .map_err(|error| format!("callgrind wrote no {} ({error}).", out.display()))?;
        let own = own(&profile, &program_name);
        if own == 0 {
            return Err(format!("callgrind counted nothing in `{row}`."));
        }
        #[expect(clippy::cast_precision_loss, reason = "there are some millions at the most")]
        counts.insert(row.to_owned(), own as f64 / times);
    }
    Ok(counts)
}

/// Instructions in functions of one object, by the file that callgrind writes.
fn own(profile: &str, object: &str) -> u64 {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut inside = false;
    let mut of_call = false;
    let mut sum = 0;
    for line in profile.lines() {
        if let Some(rest) = line.strip_prefix("ob=") {
            // `(6) path` where it is first named, `(6)` after that; also by `cob=`.
            inside = name(rest, &mut names) == object;
        } else if let Some(rest) = line.strip_prefix("cob=") {
            name(rest, &mut names);
        } else if line.starts_with("calls=") {
            // The next line is the inclusive cost of the call, which is listed separately.
            of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if !of_call && inside {
                let cost = line.rsplit(' ').next().and_then(|cost| cost.parse::<u64>().ok());
                sum += cost.unwrap_or(0);
            }
            of_call = false;
        }
    }
    sum
}

fn name<'a>(text: &'a str, names: &mut BTreeMap<&'a str, &'a str>) -> &'a str {
    match text.split_once(' ') {
        Some((number, path)) => {
            names.insert(number, path);
            path
        }
        None => names.get(text).copied().unwrap_or(text),
    }
}

/// The recorded counts for a compiler.
fn recorded(record: &str, compiler: &str) -> Option<Counts> {
    let heading = format!("[{compiler}]");
    let mut lines = record.lines().skip_while(|line| *line != heading);
    lines.next()?;
    let rows = lines.take_while(|line| !line.starts_with('['));
    Some(
        rows.filter_map(|line| {
            let (row, count) = line.rsplit_once(':')?;
            Some((row.trim().to_owned(), count.trim().parse().ok()?))
        })
        .collect(),
    )
}

/// The record with the counts of one compiler replaced, or added.
fn with(record: &str, compiler: &str, counts: &Counts) -> String {
    let heading = format!("[{compiler}]");
    let mut kept = String::new();
    let mut skipped = false;
    for line in record.lines() {
        if line.starts_with('[') {
            skipped = line == heading;
        }
        if !skipped {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if kept.trim().is_empty() {
        "# Instructions of this project's own code per operation. `cargo xtask test --full` fails\n\
         # where they change by more than 3 %; `DLPACK_BLESS=1 cargo xtask bench instructions`\n\
         # writes what is so now.\n"
            .clone_into(&mut kept);
    }
    let mut text = format!("{}\n\n{heading}\n", kept.trim_end());
    for (row, count) in counts {
        let _ = writeln!(text, "{row}: {count:.1}");
    }
    text
}

#[derive(Debug)]
struct Verdict {
    lines: Vec<String>,
    changed: usize,
    known: bool,
}

/// Both figures of each row, and how many rows have changed, come or gone.
fn compare(record: Option<&Counts>, counts: &Counts) -> Verdict {
    let known = record.is_some();
    let nothing = Counts::new();
    let record = record.unwrap_or(&nothing);
    let mut verdict = Verdict { lines: Vec::new(), changed: 0, known };
    let mut rows: Vec<&String> = record.keys().chain(counts.keys()).collect();
    rows.sort();
    rows.dedup();
    for row in rows {
        let (before, now) = (record.get(row), counts.get(row));
        let shown = |count: Option<&f64>| count.map_or("-".to_owned(), |n| format!("{n:.1}"));
        let mut line = format!("{row:<30} recorded {:>8}, now {:>8}", shown(before), shown(now));
        let same = match (before, now) {
            (Some(before), Some(now)) => {
                let percent = (now - before) / before * 100.0;
                let _ = write!(line, " ({percent:+.1} %)");
                percent.abs() <= TOLERANCE
            }
            _ => false,
        };
        if known && !same {
            verdict.changed += 1;
            line.push_str(" CHANGED");
        }
        verdict.lines.push(line);
    }
    verdict
}

/// The same as the rows of the other benchmarks.
fn write_json(folder: &Path, compiler: &str, counts: &Counts) -> Outcome {
    let rows: Vec<String> = counts
        .iter()
        .map(|(row, count)| {
            format!(
                "  {{\"group\": \"instructions\", \"row\": \"{row}\", \"unit\": \"instructions\", \
                 \"compiler\": \"{compiler}\", \"floor\": null, \"ours\": {count:.1}, \"ratio\": \
                 null, \"bar\": null, \"peers\": {{}}}}"
            )
        })
        .collect();
    let file = folder.join("instructions.json");
    let text = format!("{{\"rows\": [\n{}\n]}}\n", rows.join(",\n"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&file, text))
        .map_err(|error| format!("{}: {error}.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
ob=(6) /t/rows
fn=(1) rows::measured
0 1
cob=(3) /lib/libc.so.6
cfn=(2) malloc
calls=1000 0
0 90000
+3 52

ob=(3)
fn=(2)
0 90000

ob=(6)
fn=(4) rows::main
* 7
";

    #[test]
    fn only_the_own_object_counts_and_no_call_twice() {
        assert_eq!(own(PROFILE, "/t/rows"), 1 + 52 + 7);
        assert_eq!(own(PROFILE, "/lib/libc.so.6"), 90000);
        assert_eq!(own(PROFILE, "/t/other"), 0);
    }

    fn counts(rows: &[(&str, f64)]) -> Counts {
        rows.iter().map(|&(row, count)| (row.to_owned(), count)).collect()
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (old, new) = (counts(&[("a: b", 61.0)]), counts(&[("a: b", 62.5), ("c", 7.0)]));
        let record = with("", "rustc 1", &old);
        let record = with(&record, "rustc 2", &old);
        let record = with(&record, "rustc 1", &new);
        assert_eq!(recorded(&record, "rustc 1"), Some(new));
        assert_eq!(recorded(&record, "rustc 2"), Some(old));
        assert_eq!(recorded(&record, "rustc 3"), None);
        assert!(record.starts_with("# "), "{record}");
        assert_eq!(record.matches("[rustc 1]").count(), 1);
    }

    #[test]
    fn changes_are_seen_in_both_directions() {
        let record = counts(&[("a", 100.0), ("b", 100.0)]);
        let verdict = |a, b| compare(Some(&record), &counts(&[("a", a), ("b", b)]));
        assert_eq!(verdict(102.9, 97.1).changed, 0);
        assert_eq!(verdict(103.1, 96.9).changed, 2);
        let verdict = verdict(104.0, 100.0);
        assert!(verdict.lines[0].contains("100.0") && verdict.lines[0].contains("104.0"));
        assert!(verdict.lines[0].ends_with("CHANGED") && !verdict.lines[1].ends_with("CHANGED"));
    }

    #[test]
    fn rows_that_come_or_go_are_changes() {
        let record = counts(&[("a", 100.0)]);
        assert_eq!(compare(Some(&record), &counts(&[("b", 1.0)])).changed, 2);
        let unknown = compare(None, &counts(&[("b", 1.0)]));
        assert!(!unknown.known && unknown.changed == 0);
        assert_eq!(unknown.lines.len(), 1);
    }
}
