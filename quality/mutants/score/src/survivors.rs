//! The score, and the list of mutants that no test detected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::Job;
use crate::list::{Genre, Mutant};
use crate::run::Verdict;

/// The goal: of a hundred mutants that compile and are not equivalent, so many are
/// detected.
const GOAL: f64 = 97.0;
/// The first words of the reason of an equivalent mutant, which may only be slower: no
/// test can detect it.
const SAME: &str = "same: ";

pub(crate) fn report(job: &Job, mutants: &[Mutant], verdicts: &[Verdict]) -> Result<bool, String> {
    let text = std::fs::read_to_string(&job.survivors).unwrap_or_default();
    let known = reasons(&text)?;
    let (mut noticed, mut timed_out, mut unviable, mut same) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut survivors = Vec::new();
    let mut log = String::new();
    for (mutant, verdict) in mutants.iter().zip(verdicts) {
        match verdict {
            Verdict::Unviable => unviable += 1,
            Verdict::Noticed(_) => noticed += 1,
            Verdict::TimedOut(_) => timed_out += 1,
            Verdict::Survived | Verdict::Unreached => survivors.push(mutant),
        }
        let _ = writeln!(log, "{verdict:?}\t{}", mutant.name);
    }
    let path = job.target.join("verdicts.txt");
    std::fs::write(&path, log).map_err(|error| format!("{}: {error}.", path.display()))?;
    let alive = u32::try_from(survivors.len()).unwrap_or(u32::MAX);
    let mut fine = true;
    let mut seen = BTreeSet::new();
    for mutant in survivors {
        let key = key(mutant);
        match known.get(&key) {
            Some(reason) => same += u32::from(reason.starts_with(SAME)),
            None => {
                println!("no reason:\n{key}");
                fine = false;
            }
        }
        seen.insert(key);
    }
    if job.only.is_none() {
        for stale in known.keys().filter(|key| !seen.contains(*key)) {
            println!("noticed, or gone; its reason can go too:\n{stale}");
            fine = false;
        }
    }
    let noticed = noticed + timed_out;
    let percent = |of: u32| 100.0 * f64::from(noticed) / f64::from(of.max(1));
    let (viable, other) = (noticed + alive, noticed + alive - same);
    println!(
        "{viable} mutants ran: {noticed} noticed, {timed_out} of them by tests that did not end; \
         {alive} survived, {same} of them because they do the same; {unviable} do not compile. All \
         verdicts: {}",
        path.display()
    );
    println!("score: {:.1} %, {:.1} % of all that ran", percent(other), percent(viable));
    Ok(fine && percent(other) >= GOAL)
}

/// The key of a survivor: it does not change with the lines around it. A function that is
/// replaced as a whole is named by that alone, whatever its body is.
fn key(mutant: &Mutant) -> String {
    let (file, what) = (&mutant.file, mutant.what());
    match mutant.genre {
        Genre::FnValue => format!("{file}\n  {what}"),
        _ => format!("{file}\n  {what}\n  {}", mutant.line),
    }
}

/// The keys and reasons of a file in which each key, of two or three lines, is followed
/// by its reason, and that by an empty line. Lines that begin with `#` are remarks.
fn reasons(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut reasons = BTreeMap::new();
    for entry in text.split("\n\n") {
        let lines: Vec<&str> =
            entry.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        match lines.as_slice() {
            [] => {}
            [key @ .., reason] if matches!(key.len(), 2 | 3) && reason.starts_with("  = ") => {
                let reason = reason.trim_start_matches("  = ").to_owned();
                reasons.insert(key.join("\n"), reason);
            }
            _ => return Err(format!("this is not a survivor with its reason:\n{entry}")),
        }
    }
    Ok(reasons)
}
