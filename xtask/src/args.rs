//! The command line of `cargo xtask`: commands, options, and the help text.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::contribute::mutants::Choice;
use crate::contribute::mutants::edits::Runner;
use crate::quality::fuzz;
use crate::venv::Packages;

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
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Request {
    #[command(flatten)]
    Contribute(Contribute),
    #[command(flatten)]
    Quality(Quality),
}

/// Commands that a contributor runs.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Contribute {
    /// Build the example module and run its demonstration on a photograph
    Demo(With),
    /// Build the example module, so that target/venv/bin/python can import it
    Develop(With),
    /// Build and run an example; without a name, list the examples
    Example { name: Option<String> },
    /// Check format, lints and unit tests of the two crates, in a minute
    Check,
    /// Run the tests; `--full` adds libraries, lints and Miri, `--step ui` selects steps
    Test(Test),
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
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Quality {
    /// Run Miri, the sanitizers, valgrind, cargo-careful and loom on all that they support
    Sanitize {
        /// Run only the steps whose names contain NAME
        #[arg(long, value_name = "NAME")]
        step: Option<String>,
    },
    /// Run the fuzz targets for N seconds each (`--seconds N`)
    Fuzz(Fuzz),
    /// Run 8 threads with 1,000,000 exchanges each way, and 1,000 interpreter exits
    Load,
    /// Run exchanges in all directions at once, in Rust and Python, for `--seconds N`
    Soak {
        /// How many seconds to run
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Run Python tests and wheels in CPythons without a GIL (built once, from sources)
    FreeThreaded {
        /// Run only the steps whose names contain NAME
        #[arg(long, value_name = "NAME")]
        step: Option<String>,
    },
    /// Run sanitize, mutants, load, free-threaded and an hour of soak (a scheduled job)
    Trust,
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

/// Which libraries the Python environment has, at least.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct With {
    /// Install more libraries than NumPy, tvm-ffi and matplotlib
    #[arg(long, value_enum)]
    with: Option<Libraries>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Libraries {
    /// PyTorch
    Torch,
    /// Every library that the tests use (11 GB)
    All,
}

impl With {
    pub(crate) fn packages(&self) -> Packages {
        match self.with {
            None => Packages::Base,
            Some(Libraries::Torch) => Packages::Torch,
            Some(Libraries::All) => Packages::MOST,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Test {
    /// Add the other libraries, lints, the oldest PyO3, Miri, valgrind and AddressSanitizer
    #[arg(long)]
    pub(crate) full: bool,
    /// Run only the steps whose names contain NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) step: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Args)]
#[group(multiple = false)]
pub(crate) struct Mutants {
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

/// What `mutants` runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MutantRun {
    /// The edits in `quality/mutants/edits`.
    Kept(Choice),
    /// The score, of the files with this in their names.
    Score(Option<String>),
}

impl Mutants {
    pub(crate) fn run(self) -> MutantRun {
        if let Some(path) = self.score {
            return MutantRun::Score(path);
        }
        let runners = [
            (self.rust, Runner::Machine),
            (self.miri, Runner::Miri),
            (self.python, Runner::Python),
        ];
        let with = runners.into_iter().find_map(|(chosen, runner)| chosen.then_some(runner));
        MutantRun::Kept(Choice { rule: self.rule, with })
    }
}

#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Fuzz {
    /// How many seconds to run each target
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Run one target
    #[arg(long, value_parser = fuzz::TARGETS)]
    target: Option<String>,
}

impl Fuzz {
    pub(crate) fn choice(self) -> fuzz::Choice {
        fuzz::Choice { target: self.target, seconds: self.seconds }
    }
}

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Bench {
    /// Cost of an exchange, beside other crates and the lower bound
    Rust,
    /// Cost of an exchange from Python, beside NumPy, PyTorch, tvm-ffi and nanobind
    Python,
    /// Exchange tables of our classes and of torch.Tensor, called from C
    Table,
    /// Machine code per exported type, with and without Python
    Size,
    /// Instructions of the hot paths against the record; `DLPACK_BLESS=1` writes the record
    Instructions,
    /// Build time that the derive adds, beside serde's
    Compile,
    /// The functions of examples/functions beside rust-numpy and nanobind
    Functions,
    /// Write docs/generated/benchmarks.md and its picture from the results of earlier runs
    Page,
    /// Run every benchmark and write the page
    All,
}

/// Parses the arguments behind `cargo xtask`. Prints help or an error and exits where
/// there is no command to run.
pub(crate) fn parse() -> Request {
    match parsed(std::env::args().skip(1)) {
        Ok(Some(request)) => request,
        Ok(None) => {
            println!("{}", command().render_help());
            std::process::exit(0)
        }
        Err(error) => error.exit(),
    }
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
    use std::path::{Path, PathBuf};

    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Option<Request>, String> {
        parsed(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    fn contribute(line: &str) -> Contribute {
        match parse(line) {
            Ok(Some(Request::Contribute(request))) => request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_parser_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn mutants_are_chosen_by_one_option() {
        let run = |line: &str| match contribute(line) {
            Contribute::Mutants(mutants) => mutants.run(),
            other => panic!("{other:?}"),
        };
        assert_eq!(run("mutants"), MutantRun::Kept(Choice::default()));
        let f4 = Choice { rule: Some("F4".to_owned()), with: None };
        assert_eq!(run("mutants --rule F4"), MutantRun::Kept(f4));
        let miri = Choice { rule: None, with: Some(Runner::Miri) };
        assert_eq!(run("mutants --miri"), MutantRun::Kept(miri));
        assert_eq!(run("mutants --score"), MutantRun::Score(None));
        let layout = Some("layout".to_owned());
        assert_eq!(run("mutants --score layout"), MutantRun::Score(layout));
        assert!(parse("mutants --rule F4 --miri").unwrap_err().contains("cannot be used with"));
    }

    #[test]
    fn help_lists_each_command_in_its_group_on_one_line() {
        let help = command().render_help().to_string();
        let (contributors, quality) = help.split_once("For quality runs").expect("two groups");
        let (quality, environment) = quality.split_once("Environment:").expect("the variables");
        for name in ["test", "rules", "bench", "mutants"] {
            assert!(contributors.contains(&format!("\n  {name} ")), "{help}");
        }
        for name in ["sanitize", "fuzz", "trust", "publishable"] {
            assert!(quality.contains(&format!("\n  {name} ")), "{help}");
        }
        assert!(environment.contains("DLPACK_REQUIRE"));
        for line in help.lines() {
            assert!(line.len() <= 100, "{line}");
        }
        let test = parse("help test").unwrap_err();
        assert!(test.contains("--full") && test.contains("--step <NAME>"), "{test}");
    }

    /// The commands that a text names: behind `$` in a console, and between backticks.
    fn commands_in(text: &str) -> Vec<String> {
        let start = |(at, _): (usize, &str)| &text[at..];
        let mentions = text.match_indices("cargo xtask ").map(start).filter_map(|mention| {
            let mention = mention.split("  ").next()?;
            let line = mention.split(['`', '\n', '#', '"', '<', ')', ',', ';']).next()?;
            Some(line.trim_start_matches("cargo xtask ").trim().trim_end_matches('.').to_owned())
        });
        mentions.collect()
    }

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn commands_in_documents_are_parsed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut pages = vec![root.join("CONTRIBUTING.md"), root.join("README.md")];
        files(&root.join("docs"), &mut pages);
        files(&root.join("requirements"), &mut pages);
        let mut count = 0;
        for page in pages {
            let text = std::fs::read_to_string(&page).expect("the page can be read");
            for line in commands_in(&text) {
                // A placeholder. A page may name a command without its required options.
                let words = line.replace(" N", " 1");
                let words = words.split_whitespace().map(str::to_owned);
                let wrong = parsed(words).err().filter(|error| {
                    !matches!(
                        error.kind(),
                        ErrorKind::DisplayHelp
                            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                            | ErrorKind::MissingRequiredArgument
                    )
                });
                assert!(wrong.is_none(), "{}: `{line}`: {wrong:?}", page.display());
                count += 1;
            }
        }
        assert!(count > 20, "{count} commands were found");
    }
}
