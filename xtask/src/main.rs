//! The project's own commands, run as `cargo xtask <command>`.
//!
//! Each layer imports from those below it:
//!
//! 1. the command line: this file;
//! 2. `lists`: the steps of each command, by name;
//! 3. `mutants`, `pictures`, `bench`, `examples`, `checks`, `rules`: the functions of the steps;
//! 4. `step`, `context`: how a list of steps runs, and what its steps share;
//! 5. `modules`, `environment`: extension modules and virtual environments of Python;
//! 6. `tools`, `stage`, `command`, `interpreter`: other programs, their logs and installation;
//! 7. `checkout`, `outcome`: files, and the types of results.

#![forbid(unsafe_code)]
#![expect(clippy::std_instead_of_core, reason = "a program for a machine that has std")]

mod bench;
mod checkout;
mod checks;
mod command;
mod context;
mod environment;
mod examples;
mod interpreter;
mod lists;
mod modules;
mod mutants;
mod outcome;
mod pictures;
mod rules;
mod stage;
mod step;
mod tools;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::Bench;
use checks::{gpu, python, rust, sanitizers, wheels};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use environment::{BASE, MOST, Packages, TORCH};
use outcome::Outcome;
use rules::edits::Runner;
use step::run_command;

/// Printed below the commands.
const ENVIRONMENT: &str = "\
Environment:
  DLPACK_PYTHON    the Python to make virtual environments from (default: python3, python)
  DLPACK_REQUIRE   comma-separated list of what may not be skipped, such as miri,vulkan

Virtual environments are shared between checkouts, in the user's cache folder; target/venv
links to the one in use. Logs are in target/xtask-logs.";

/// The arguments behind `cargo xtask`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    request: Option<Request>,
}

/// One parsed command line.
#[derive(Debug, Subcommand)]
enum Request {
    #[command(flatten)]
    Contribute(Contribute),
    #[command(flatten)]
    Quality(Quality),
}

/// Commands that a contributor runs.
#[derive(Debug, Subcommand)]
enum Contribute {
    /// Build the example module and run its demonstration on a photograph
    Demo(With),
    /// Build the example module, so that target/venv/bin/python can import it
    Develop(With),
    /// Build and run an example; without a name, list the examples
    Example { name: Option<String> },
    /// Check format, lints and unit tests of the two crates, in a minute
    Check,
    /// Run the tests; `--full` adds libraries, lints and Miri, `--step S` selects steps
    Test {
        /// Add the other libraries, lints, the oldest Rust, Miri, valgrind and AddressSanitizer
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        part: Part,
    },
    /// Check the rules of docs/soundness.md, and the code and files that docs/ names
    Rules,
    /// Remove one check at a time and require that its test fails
    Mutants(Mutants),
    /// Compare the public interface with the reviewed text
    Api {
        /// Write the reviewed text from the sources
        #[arg(long)]
        bless: bool,
    },
    /// Measure which library accepts which tensors from which: docs/generated/interop.md
    Matrix,
    /// Measure how libraries treat hostile and odd tensors: docs/generated/conformance.md
    Conformance,
    /// Draw the pictures of docs/pictures (installs PyTorch)
    Pictures,
    /// Run a benchmark, or write docs/generated/benchmarks.md; no name lists them
    #[command(arg_required_else_help = true)]
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

/// Commands that only quality runs need: long runs, and steps before a release.
#[derive(Debug, Subcommand)]
enum Quality {
    /// Run Miri, the sanitizers, valgrind, cargo-careful and loom on all that they support
    Sanitize(Part),
    /// Run the fuzz targets for N seconds each (`--seconds N`)
    Fuzz {
        #[command(flatten)]
        time: Time,
        /// Run one target
        #[arg(long, value_parser = sanitizers::TARGETS)]
        target: Option<String>,
    },
    /// Run 8 threads with 1,000,000 exchanges each way, and 1,000 interpreter exits
    Load,
    /// Run exchanges in all directions at once, in Rust and Python, for `--seconds N`
    Soak(Time),
    /// Run Python tests and wheels in CPythons without a GIL (built once, from sources)
    FreeThreaded(Part),
    /// Run all that is too long for every change, or a PART of it (a scheduled job)
    Trust { part: Option<lists::Trust> },
    /// Test PyTorch, CuPy and streams on an NVIDIA GPU; writes docs/gpu.md
    Gpu {
        /// Only build what the checks need, for a machine without Rust
        #[arg(long, value_name = "FOLDER")]
        bundle: Option<PathBuf>,
    },
    /// Build the wheels of the Python tools and test them in clean environments
    Wheels,
    /// Check packages, licences, feature pairs and oldest dependencies before a release
    Publishable,
}

#[derive(Debug, Args)]
struct Part {
    /// Run only the steps whose names contain NAME
    #[arg(long, value_name = "NAME")]
    step: Option<String>,
}

#[derive(Debug, Args)]
struct Time {
    /// How many seconds to run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

#[derive(Debug, Args)]
struct With {
    /// Install more libraries than NumPy, tvm-ffi and matplotlib
    #[arg(long, value_enum)]
    with: Option<Libraries>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Libraries {
    /// PyTorch
    Torch,
    /// Every library that the tests use (11 GB)
    All,
}

impl With {
    fn packages(&self) -> &'static Packages {
        match self.with {
            None => &BASE,
            Some(Libraries::Torch) => &TORCH,
            Some(Libraries::All) => &MOST,
        }
    }
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct Mutants {
    /// Run the mutants of one rule, such as F4
    #[arg(long)]
    rule: Option<String>,
    /// Run the mutants whose tests run without Python and without Miri
    #[arg(long)]
    rust: bool,
    /// Run the mutants whose tests run under Miri
    #[arg(long)]
    miri: bool,
    /// Run the mutants whose tests run in Python
    #[arg(long)]
    python: bool,
    /// Measure how many small mistakes in the core the tests notice (half an hour), in all
    /// files or in those with PATH in their names
    #[arg(long, value_name = "PATH")]
    #[expect(clippy::option_option, reason = "clap's type for an option with an optional value")]
    score: Option<Option<String>>,
}

impl Mutants {
    fn run(&self) -> Outcome<ExitCode> {
        let runners = [
            (self.rust, Runner::Machine),
            (self.miri, Runner::Miri),
            (self.python, Runner::Python),
        ];
        let with = runners.into_iter().find_map(|(chosen, runner)| chosen.then_some(runner));
        run_command("mutants", &BASE, |context| match &self.score {
            Some(path) => mutants::score::run(context, path.as_deref()),
            None => mutants::run(context, self.rule.as_deref(), with),
        })
    }
}

impl Contribute {
    fn run(self) -> Outcome<ExitCode> {
        match self {
            Self::Demo(with) => run_command("demo", with.packages(), |context| {
                python::demo(context, python::develop(context)?)
            }),
            Self::Develop(with) => run_command("develop", with.packages(), |context| {
                python::develop(context).map(drop)
            }),
            Self::Example { name } => examples::command(name.as_deref()),
            Self::Check => lists::check(),
            Self::Test { full, part } => lists::test(full, part.step.as_deref()),
            Self::Rules => run_command("rules", &BASE, lists::run_rules),
            Self::Mutants(mutants) => mutants.run(),
            Self::Api { bless } => run_command("public interface", &BASE, |context| {
                rust::public_interface(context, bless)
            }),
            Self::Matrix => run_command("matrix", &MOST, |context| python::matrix(context, true)),
            Self::Conformance => run_command("conformance", &MOST, python::conformance),
            Self::Pictures => run_command("pictures", &TORCH, pictures::draw),
            Self::Bench { what } => {
                run_command("bench", what.packages(), |context| what.run(context))
            }
        }
    }
}

impl Quality {
    fn run(self) -> Outcome<ExitCode> {
        match self {
            Self::Sanitize(part) => lists::sanitize(part.step.as_deref()),
            Self::Fuzz { time, target } => run_command("fuzz", &BASE, |context| {
                sanitizers::fuzz(context, target.as_deref(), time.seconds)
            }),
            Self::Load => lists::load(),
            Self::Soak(time) => {
                run_command("soak", &BASE, |context| python::soak(context, time.seconds))
            }
            Self::FreeThreaded(part) => lists::free_threaded(part.step.as_deref()),
            Self::Trust { part } => lists::trust(part),
            Self::Gpu { bundle } => {
                run_command("gpu", &BASE, |context| gpu::run(context, bundle.as_deref()))
            }
            Self::Wheels => run_command("wheels", &BASE, wheels::run),
            Self::Publishable => lists::publishable(),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match parsed(std::env::args().skip(1)) {
        Ok(Some(Request::Contribute(request))) => request.run(),
        Ok(Some(Request::Quality(request))) => request.run(),
        Ok(None) => {
            println!("{}", command().render_help());
            return ExitCode::SUCCESS;
        }
        Err(error) => error.exit(),
    };
    outcome.unwrap_or_else(|sentence| {
        eprintln!("error: {sentence}");
        ExitCode::FAILURE
    })
}

fn parsed(words: impl Iterator<Item = String>) -> Result<Option<Request>, clap::Error> {
    let words = ["cargo xtask".to_owned()].into_iter().chain(words);
    let matches = command().try_get_matches_from(words)?;
    Ok(Arguments::from_arg_matches(&matches)?.request)
}

/// The parser, with a help text that lists the two groups apart.
fn command() -> clap::Command {
    let mut help = "Usage: {usage}\n\nFor contributors:\n".to_owned();
    help += &list(&Contribute::augment_subcommands(clap::Command::new("")));
    help += "\nFor quality runs, which take long or need special tools:\n";
    help += &list(&Quality::augment_subcommands(clap::Command::new("")));
    help += "\n`cargo xtask help COMMAND` lists the options of a command.\n\n";
    Arguments::command().help_template(help + ENVIRONMENT)
}

/// A line for each command.
fn list(commands: &clap::Command) -> String {
    let mut lines = String::new();
    for command in commands.get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(lines, "  {:14}{about}", command.get_name()).expect("a string can be written");
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;
    use crate::checkout::{files_below, has_extension, read, root};

    #[test]
    fn the_parser_is_consistent() {
        command().debug_assert();
        let help = command().render_help().to_string();
        help.lines().for_each(|line| assert!(line.len() <= 100, "{line}"));
    }

    /// The commands behind `$` in a console, and between backticks.
    #[test]
    fn commands_in_documents_are_parsed() {
        let mut pages = vec![root().join("CONTRIBUTING.md"), root().join("README.md")];
        pages.extend(files_below(&root().join("docs")).unwrap());
        pages.extend(files_below(&root().join("requirements")).unwrap());
        let mut count = 0;
        for page in pages.iter().filter(|page| has_extension(page, "md")) {
            let text = read(page).unwrap();
            for mention in text.split("cargo xtask ").skip(1) {
                let mention = mention.split("  ").next().unwrap_or_default();
                let ends = ['`', '\n', '#', '"', '<', ')', ',', ';'];
                let line = mention.split(ends).next().unwrap_or_default().trim_end_matches('.');
                // A placeholder. A page may name a command without its required options.
                let line = line.replace(" N", " 1");
                let error = parsed(line.split_whitespace().map(str::to_owned)).err();
                let is_wrong = error.as_ref().is_some_and(|error| {
                    !matches!(
                        error.kind(),
                        ErrorKind::DisplayHelp
                            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                            | ErrorKind::MissingRequiredArgument
                    )
                });
                assert!(!is_wrong, "{}: `{line}`: {error:?}", page.display());
                count += 1;
            }
        }
        assert!(count > 20, "{count} commands were found");
    }
}
