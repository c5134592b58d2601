//! `cargo xtask mutants`: each mechanism is taken out in turn, and the test of
//! its rule has to notice.

pub(crate) mod edits;
pub(crate) mod score;
mod scratch;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::checkout::{Checkout, Outcome};
use crate::context::{Context, Step};
use crate::contribute::rules::reference::Reference;
use crate::quality::miri;
use crate::report::{Ending, Stop};
use crate::run::Stage;
use crate::venv::{self, Environment, Packages};
use edits::{Mutant, Runner};
use scratch::{Interpreted, Python, Rust, SIMULATED, Scratch, Tests};

/// The selection of mutants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The mutants of one rule.
    pub(crate) rule: Option<String>,
    /// The mutants whose test has this runner.
    pub(crate) with: Option<Runner>,
}

/// The command: all mutants, or some.
pub(crate) fn mutants(checkout: &Checkout, choice: &Choice) -> Outcome {
    let mut stage = Stage::begin(checkout, "mutants", "mutants")?;
    let chosen = chosen(checkout, choice)?;
    let python = chosen.iter().any(|mutant| mutant.with == Runner::Python);
    let environment =
        if python { Some(venv::ensure(checkout, Packages::Base, &mut stage)?) } else { None };
    let outcome = run(checkout, environment.as_ref(), &chosen, &mut stage);
    if outcome.is_err() {
        stage.note(&format!("all that was said is in {}", stage.log_path().display()));
    }
    stage.done(&format!("{} mutants", chosen.len()));
    outcome
}

/// The step of `cargo xtask trust`: all mutants.
pub(crate) const ALL: &[Step] = &[("all mutants", all)];

fn all(context: &Context, stage: &mut Stage) -> Ending {
    let chosen = chosen(&context.checkout, &Choice::default())?;
    let environment = context.environment(stage)?;
    run(&context.checkout, Some(environment), &chosen, stage).map_err(Stop::Failed)
}

fn chosen(checkout: &Checkout, choice: &Choice) -> Outcome<Vec<Mutant>> {
    let mut chosen = Vec::new();
    for mutant in edits::all(checkout.root())? {
        let ours = choice.rule.as_ref().is_none_or(|rule| mutant.rules.contains(rule));
        let asked = choice.with.is_none_or(|asked| mutant.with == asked);
        if ours && asked {
            chosen.push(mutant);
        }
    }
    if chosen.is_empty() {
        return Err("there is no such mutant; see quality/mutants/edits.".to_owned());
    }
    Ok(chosen)
}

fn run(
    checkout: &Checkout,
    environment: Option<&Environment>,
    mutants: &[Mutant],
    stage: &mut Stage,
) -> Outcome {
    let scratch = Scratch::make(checkout, stage)?;
    // By what has to be built for them: one after the other that is least.
    let mut groups: BTreeMap<(Runner, String), Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        let binary = match mutant.reference()? {
            Reference::Rust { binary, .. } | Reference::Device { binary, .. } => binary,
            _ => String::new(),
        };
        groups.entry((mutant.with, binary)).or_default().push(mutant);
    }
    let mut wrong = Vec::new();
    for ((runner, binary), mutants) in groups {
        let tests: Box<dyn Tests> = match (runner, environment) {
            (Runner::Machine, _) if binary.starts_with(SIMULATED) && !cfg!(target_os = "linux") => {
                stage.note(&format!("SKIPPED {}: the simulator is for Linux", mutants.len()));
                continue;
            }
            (Runner::Machine, _) => Box::new(Rust::new(&scratch, binary)),
            (Runner::Miri, _) => {
                if let Err(reason) = miri::install(stage) {
                    stage.note(&format!("SKIPPED {} for Miri: {reason}", mutants.len()));
                    continue;
                }
                Box::new(Interpreted::new(&scratch, binary))
            }
            (Runner::Python, Some(environment)) => {
                Box::new(Python::new(checkout, &scratch, environment))
            }
            (Runner::Python, None) => return Err("there is no Python environment.".to_owned()),
        };
        wrong.extend(group(&scratch, &*tests, &mutants, stage)?);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{} of {} mutants: {}", wrong.len(), mutants.len(), wrong.join("; ")))
}

/// The mutants that no test detected, and their results.
fn group(
    scratch: &Scratch,
    tests: &dyn Tests,
    mutants: &[&Mutant],
    stage: &mut Stage,
) -> Outcome<Vec<String>> {
    // With the unmodified sources the tests must pass.
    tests.build(stage)?;
    let mut names: Vec<Reference> =
        mutants.iter().map(|mutant| mutant.reference()).collect::<Outcome<_>>()?;
    names.sort();
    names.dedup();
    for name in &names {
        if !tests.pass(name, stage)? {
            return Err(format!("{name:?} fails as it is, without a mutant."));
        }
    }
    let mut wrong = Vec::new();
    for mutant in mutants {
        let started = Instant::now();
        let length = stage.log_length()?;
        let changed = mutant.apply(scratch.sources())?;
        let before = scratch.change(&changed)?;
        let verdict = match tests.build(stage) {
            Err(_) => "DOES NOT COMPILE",
            Ok(()) if tests.pass(&mutant.reference()?, stage)? => "NOT NOTICED",
            Ok(()) => "noticed",
        };
        scratch.change(&before)?;
        if verdict == "noticed" {
            // A test that must fail, and fails, is left out of the log of a test that
            // should have failed.
            stage.forget_since(length)?;
        } else {
            wrong.push(format!("{verdict}: {} by {}", mutant.title(), mutant.test));
        }
        stage.note(&format!(
            "{verdict:16} {:5.1} s  {:60} {}",
            started.elapsed().as_secs_f64(),
            mutant.title(),
            mutant.test
        ));
    }
    Ok(wrong)
}
