//! The mutation score of the core: the share of small mistakes that a test detects.
//!
//! `cargo mutants --list` lists the mistakes. Building the tests once for each of
//! them would take minutes each; so all are written into one copy of the sources, each
//! behind a switch that is read at run time, and the tests are built
//! once. `cargo xtask mutants --score` makes the copy and calls this program.

mod compile;
mod list;
mod rewrite;
mod run;
mod survivors;
mod switch;

use std::path::PathBuf;
use std::process::ExitCode;

/// Paths of one run, and how it is to be.
pub(crate) struct Job {
    /// The copy of the sources, which is changed.
    pub(crate) sources: PathBuf,
    /// The list of `cargo mutants --list --json`.
    pub(crate) list: PathBuf,
    /// Where to build.
    pub(crate) target: PathBuf,
    /// The survivors that are known, each with its reason.
    pub(crate) survivors: PathBuf,
    /// How many tests run at once.
    pub(crate) jobs: usize,
    /// Only mutants of files whose paths contain this, if it is given.
    pub(crate) only: Option<String>,
}

fn main() -> ExitCode {
    match job().and_then(|job| score(&job)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn job() -> Result<Job, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [sources, list, target, survivors, jobs, only @ ..] = arguments.as_slice() else {
        return Err("call `cargo xtask mutants --score`.".to_owned());
    };
    Ok(Job {
        sources: sources.into(),
        list: list.into(),
        target: target.into(),
        survivors: survivors.into(),
        jobs: jobs.parse().map_err(|_| format!("`{jobs}` is not a number of jobs."))?,
        only: only.first().cloned(),
    })
}

/// Whether the score is good, and every survivor known.
fn score(job: &Job) -> Result<bool, String> {
    let mut mutants = list::read(&job.list)?;
    if let Some(only) = &job.only {
        mutants.retain(|mutant| mutant.file.contains(only.as_str()));
    }
    println!("{} mutants", mutants.len());
    let built = compile::compile(job, &mut mutants)?;
    let verdicts = run::run(job, &mutants, &built)?;
    survivors::report(job, &mutants, &verdicts)
}
