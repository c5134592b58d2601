//! `cargo xtask mutants`: each mechanism is taken out in turn, and the test of
//! its rule has to notice.

pub(crate) mod kept;
mod scratch;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::checkout::Checkout;
use crate::report::{Ending, Stop};
use crate::rules::Reference;
use crate::run::Stage;
use crate::test::Context;
use crate::venv::{self, Environment, Packages};
use crate::{Outcome, mutants::kept::Mutant};
use scratch::{Python, Rust, Scratch, Tests};

/// The language of a mutant's test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// The test binary is built again.
    Rust,
    /// The extension module is.
    Python,
}

/// Which mutants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Those of one rule.
    pub(crate) rule: Option<String>,
    /// Those with a test in one language.
    pub(crate) language: Option<Language>,
}

/// The command: all mutants, or some.
pub(crate) fn mutants(checkout: &Checkout, choice: &Choice) -> Outcome {
    let mut stage = Stage::begin(checkout, "mutants", "mutants")?;
    let chosen = chosen(checkout, choice)?;
    let python = chosen.iter().any(|mutant| language(mutant) == Ok(Language::Python));
    let environment =
        if python { Some(venv::ensure(checkout, Packages::Base, &mut stage)?) } else { None };
    let outcome = run(checkout, environment.as_ref(), &chosen, &mut stage);
    if outcome.is_err() {
        stage.note(&format!("all that was said is in {}", stage.log_path().display()));
    }
    stage.done(&format!("{} mutants", chosen.len()));
    outcome
}

/// The step of `cargo xtask test --full`: those with a test in Rust. Building
/// the extension module again for each of the others takes too long there.
pub(crate) fn step(context: &Context, stage: &mut Stage) -> Ending {
    let choice = Choice { language: Some(Language::Rust), rule: None };
    let chosen = chosen(&context.checkout, &choice)?;
    run(&context.checkout, None, &chosen, stage).map_err(Stop::Failed)
}

fn chosen(checkout: &Checkout, choice: &Choice) -> Outcome<Vec<Mutant>> {
    let mut chosen = Vec::new();
    for mutant in kept::all(checkout.root())? {
        let ours = choice.rule.as_ref().is_none_or(|rule| mutant.rules.contains(rule));
        let asked = choice.language.is_none_or(|asked| language(&mutant) == Ok(asked));
        if ours && asked {
            chosen.push(mutant);
        }
    }
    if chosen.is_empty() {
        return Err("there is no such mutant; see tests/mutants.".to_owned());
    }
    Ok(chosen)
}

fn language(mutant: &Mutant) -> Outcome<Language> {
    match mutant.reference()? {
        Reference::Python { .. } => Ok(Language::Python),
        Reference::Ui(_) => Err(format!(
            "the mutant \"{}\" names a test that must not compile, and so is none.",
            mutant.title()
        )),
        _ => Ok(Language::Rust),
    }
}

fn run(
    checkout: &Checkout,
    environment: Option<&Environment>,
    mutants: &[Mutant],
    stage: &mut Stage,
) -> Outcome {
    let scratch = Scratch::make(checkout, stage)?;
    // By what has to be built for them: one after the other that is least.
    let mut groups: BTreeMap<Option<String>, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        let key = match mutant.reference()? {
            Reference::Rust { binary, .. } => Some(binary),
            Reference::Unit { .. } => Some(String::new()),
            _ => None,
        };
        groups.entry(key).or_default().push(mutant);
    }
    let mut wrong = 0;
    for (key, mutants) in groups {
        wrong += match (key, environment) {
            (Some(binary), _) => group(&scratch, &Rust::new(&scratch, binary), &mutants, stage)?,
            (None, Some(environment)) => {
                group(&scratch, &Python::new(checkout, &scratch, environment), &mutants, stage)?
            }
            (None, None) => return Err("there is no Python environment for a test.".to_owned()),
        };
    }
    match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} of {} mutants were not noticed.", mutants.len())),
    }
}

/// How many of the mutants were not noticed.
fn group(
    scratch: &Scratch,
    tests: &dyn Tests,
    mutants: &[&Mutant],
    stage: &mut Stage,
) -> Outcome<usize> {
    // With everything in its place the tests pass.
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
    let mut wrong = 0;
    for mutant in mutants {
        let started = Instant::now();
        let changed = mutant.apply(scratch.sources())?;
        let before = scratch.change(&changed)?;
        let verdict = match tests.build(stage) {
            Err(_) => "DOES NOT COMPILE",
            Ok(()) if tests.pass(&mutant.reference()?, stage)? => "NOT NOTICED",
            Ok(()) => "noticed",
        };
        scratch.change(&before)?;
        wrong += usize::from(verdict != "noticed");
        stage.note(&format!(
            "{verdict:8} {:5.1} s  {:58} {}",
            started.elapsed().as_secs_f64(),
            mutant.title(),
            mutant.test
        ));
    }
    Ok(wrong)
}
