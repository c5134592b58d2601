//! `cargo xtask mutants`: each mechanism is taken out in turn, and the test of
//! its rule has to notice.

mod runners;
pub(crate) mod score;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::checkout::{copy_sources, read, root, target, write};
use crate::context::Context;
use crate::outcome::{Ending, Outcome, Stop};
use crate::rules::edits::{self, Mutant, Runner};
use crate::rules::reference::Test;
use crate::tools;
use runners::Tests;

/// All mutants, or those of one rule or with one runner.
pub(crate) fn run(context: &Context, rule: Option<&str>, with: Option<Runner>) -> Ending {
    let mut mutants = edits::all(root())?;
    mutants.retain(|mutant| rule.is_none_or(|rule| mutant.rules.iter().any(|it| it == rule)));
    mutants.retain(|mutant| with.is_none_or(|with| mutant.with == with));
    if mutants.is_empty() {
        return Err("there is no such mutant; see quality/mutants/edits.".into());
    }
    let place = target("mutants");
    copy_sources(root(), &place.join("src"))?;
    // By what has to be built for them: one after the other that is least.
    let mut groups: BTreeMap<(Runner, &str), Vec<&Mutant>> = BTreeMap::new();
    for mutant in &mutants {
        groups.entry((mutant.with, &mutant.test.binary)).or_default().push(mutant);
    }
    let mut wrong = Vec::new();
    for ((runner, binary), mutants) in groups {
        let can_run = match runner {
            Runner::Miri => tools::miri(context, "miri"),
            _ if binary.starts_with(runners::SIMULATED) && !cfg!(target_os = "linux") => {
                Err(Stop::Skipped("the simulator is for Linux".to_owned()))
            }
            _ => Ok(()),
        };
        match can_run {
            Ok(()) => {}
            Err(Stop::Skipped(reason)) => {
                context.note(format!("SKIPPED {} mutants: {reason}", mutants.len()));
                continue;
            }
            failed => return failed,
        }
        let tests = Tests::new(context, &place, runner, binary)?;
        wrong.extend(undetected(context, &place.join("src"), &tests, &mutants)?);
    }
    context.note(format!("{} mutants", mutants.len()));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{} of {} mutants: {}", wrong.len(), mutants.len(), wrong.join("; ")).into())
}

/// The mutants that no test detected, and their results.
fn undetected(
    context: &Context,
    sources: &Path,
    tests: &Tests<'_>,
    mutants: &[&Mutant],
) -> Outcome<Vec<String>> {
    // With the unmodified sources the tests must pass.
    let built = tests.build()?;
    let program = built.map_err(|output| {
        context.log(&output);
        "the tests do not build as they are, without a mutant.".to_owned()
    })?;
    let mut names: Vec<&Test> = mutants.iter().map(|mutant| &mutant.test).collect();
    names.sort();
    names.dedup();
    for test in names {
        let (passed, output) = tests.passes(&program, test)?;
        if !passed {
            context.log(&output);
            return Err(format!("{} fails as it is, without a mutant.", test.name));
        }
    }
    let mut wrong = Vec::new();
    for mutant in mutants {
        let started = Instant::now();
        let changed = mutant.apply(sources)?;
        let before = change(sources, &changed)?;
        // A test that fails, as it must, is not in the log.
        let verdict = match tests.build()? {
            Err(output) => {
                context.log(&output);
                "DOES NOT COMPILE"
            }
            Ok(program) => match tests.passes(&program, &mutant.test)? {
                (true, output) => {
                    context.log(&output);
                    "NOT NOTICED"
                }
                (false, _) => "noticed",
            },
        };
        change(sources, &before)?;
        let (title, test) = (&mutant.title, &mutant.named);
        if verdict != "noticed" {
            wrong.push(format!("{verdict}: {title} by {test}"));
        }
        let seconds = started.elapsed().as_secs_f64();
        context.note(format!("{verdict:16} {seconds:5.1} s  {title:60} {test}"));
    }
    Ok(wrong)
}

/// Writes files, and returns what they contained.
fn change(sources: &Path, files: &BTreeMap<String, String>) -> Outcome<BTreeMap<String, String>> {
    let mut before = BTreeMap::new();
    for (name, text) in files {
        let path = sources.join(name);
        before.insert(name.clone(), read(&path)?);
        write(&path, text)?;
    }
    Ok(before)
}
