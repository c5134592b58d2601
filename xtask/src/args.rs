//! The command line: what was asked for.

use crate::fuzz;
use crate::mutants::Choice;
use crate::mutants::kept::Runner;
use crate::venv::Packages;

/// Shown by `help`.
pub(crate) const HELP: &str = "\
Usage: cargo xtask <command>

Commands:
  demo [--with torch]      build the example module and tell its story on a real photograph
  develop [--with torch]   build the example module so that target/venv/bin/python imports it
                           (--with all: beside all libraries that the tests know, 11 GB)
  example NAME             builds and runs an example; without a name, says which there are
  test                     the tests: Rust, then Python with NumPy and tvm-ffi
  test --full              adds all other libraries, lints, the oldest PyO3, Miri, valgrind,
                           AddressSanitizer
  publishable              whether both crates could be published: packages, licences, features
                           two at a time, oldest dependencies, what changed since the last release
  pictures                 draws the pictures of the README anew (installs PyTorch)
  conformance              what each library makes of hostile and odd tensors; writes
                           docs/conformance.md
  matrix                   who takes which tensors from whom; writes docs/interop.md
  gpu                      PyTorch, CuPy and streams on an NVIDIA GPU; writes docs/gpu.md
  bench rust               what an exchange costs, beside the other crates and the floor
  rules                    whether every rule of docs/SAFETY.md has a mechanism and a test
  mutants [--rule F4]      take each mechanism out, and see its test fail; --rust, --miri
                           or --python for those with tests of one kind
  mutants --score [PATH]   what share of small mistakes in the core the tests notice (half
                           an hour); of files with PATH in their names
  api [--bless]            whether the public interface is what was reviewed
  fuzz --seconds N         hostile input at random, N seconds for each target;
                           --target T for one: raw_import, layout, peer_table,
                           exchange_table, allocator, derive
  sanitize                 Miri, AddressSanitizer, LeakSanitizer, ThreadSanitizer, valgrind,
                           cargo-careful, loom, on all that they can run; --step S for
                           those steps whose names have S in them
  load                     8 threads, 1,000,000 exchanges on each in each direction, from Rust
                           and from Python; 1,000 interpreters that end with live tensors
  soak --seconds N         all directions at once, Rust and Python, for N seconds
  free-threaded            Python tests in a CPython without a GIL, built from the sources of
                           the distribution (some minutes, once)
  trust                    sanitize, load, free-threaded, and an hour's soak: all that is too
                           long for `test --full`, for a scheduled job
  wheels                   the Python tools as wheels: built, tried where nothing else is
                           installed, and tested beside all that is
  bench table              the exchange tables of our classes and of torch.Tensor, from C
  bench size               machine code per exported type, without Python and with it
  bench instructions       instructions of the hot paths, beside the record; with
                           DLPACK_BLESS=1 they become the record
  bench compile            what the derive adds to a build, beside serde's
  bench python             the same of what Python sees, beside NumPy, PyTorch, tvm-ffi and nanobind
  bench page               docs/benchmarks.md and its picture, from the figures of earlier runs
  bench all                all of bench, and the page
  help                     this text

Environment:
  DLPACK_PYTHON    the Python to make virtual environments from (default: python3, python)
  DLPACK_REQUIRE   comma list of what may not be skipped, such as miri,vulkan

Virtual environments are shared between checkouts, in the folder for caches of
the user; target/venv links to the one in use. Logs are in target/xtask-logs.";

/// One understood command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// `help`, or nothing at all.
    Help,
    /// `develop`, with at least these packages in the environment.
    Develop(Packages),
    /// `demo`, with at least these packages in the environment.
    Demo(Packages),
    /// `conformance`.
    Conformance,
    /// `matrix`.
    Matrix,
    /// `pictures`.
    Pictures,
    /// `publishable`.
    Publishable,
    /// `bench compile`.
    BenchCompile,
    /// `rules`.
    Rules,
    /// `mutants`, and which.
    Mutants(Choice),
    /// `mutants --score`, and of which files, if not all.
    Score(Option<String>),
    /// `api`, and whether to write it anew.
    Api {
        /// `--bless` was said.
        bless: bool,
    },
    /// `gpu`.
    Gpu,
    /// `fuzz`, and what.
    Fuzz(fuzz::Choice),
    /// `sanitize`, and which step, if not all.
    Sanitize(Option<String>),
    /// `example`, and which.
    Example(Option<String>),
    /// `wheels`.
    Wheels,
    /// `load`.
    Load,
    /// `soak`, and for how many seconds.
    Soak(u32),
    /// `trust`.
    Trust,
    /// `free-threaded`.
    FreeThreaded,
    /// `bench rust`.
    BenchRust,
    /// `bench python`.
    BenchPython,
    /// `bench page`.
    BenchPage,
    /// `bench all`.
    BenchAll,
    /// `bench table`.
    BenchTable,
    /// `bench size`.
    BenchSize,
    /// `bench instructions`.
    BenchInstructions,
    /// `test`, and whether `--full` was said.
    Test {
        /// Run the slow and the rarely failing steps too.
        full: bool,
    },
}

/// What is printed of a command line that was not understood: it alone, since under
/// all commands nobody would find it.
pub(crate) fn refusal(sentence: &str) -> String {
    format!("error: {sentence}\nAll commands: cargo xtask help")
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h", ..] => Ok(Request::Help),
        ["develop", rest @ ..] => packages("develop", rest).map(Request::Develop),
        ["demo", rest @ ..] => packages("demo", rest).map(Request::Demo),
        ["publishable"] => Ok(Request::Publishable),
        ["pictures"] => Ok(Request::Pictures),
        ["conformance"] => Ok(Request::Conformance),
        ["matrix"] => Ok(Request::Matrix),
        ["matrix", rest @ ..] => {
            Err(format!("`matrix` takes no argument, and got `{}`.", rest.join(" ")))
        }
        ["bench", "compile"] => Ok(Request::BenchCompile),
        ["bench", "rust"] => Ok(Request::BenchRust),
        ["bench", "python"] => Ok(Request::BenchPython),
        ["bench", "page"] => Ok(Request::BenchPage),
        ["bench", "all"] => Ok(Request::BenchAll),
        ["bench", "table"] => Ok(Request::BenchTable),
        ["bench", "size"] => Ok(Request::BenchSize),
        ["bench", "instructions"] => Ok(Request::BenchInstructions),
        ["bench", rest @ ..] => Err(format!(
            "`bench` takes `rust`, `table`, `size`, `instructions`, `python`, `compile`, `page` or \
             `all`, and got `{}`.",
            rest.join(" ")
        )),
        ["rules"] => Ok(Request::Rules),
        ["gpu"] => Ok(Request::Gpu),
        ["wheels"] => Ok(Request::Wheels),
        ["api"] => Ok(Request::Api { bless: false }),
        ["api", "--bless"] => Ok(Request::Api { bless: true }),
        ["api", rest @ ..] => {
            Err(format!("`api` takes no argument but --bless, and got `{}`.", rest.join(" ")))
        }
        ["mutants", "--score"] => Ok(Request::Score(None)),
        ["mutants", "--score", file] => Ok(Request::Score(Some((*file).to_owned()))),
        ["mutants", rest @ ..] => mutants(rest).map(Request::Mutants),
        ["fuzz", rest @ ..] => fuzz(rest).map(Request::Fuzz),
        ["sanitize"] => Ok(Request::Sanitize(None)),
        ["sanitize", "--step", step] => Ok(Request::Sanitize(Some((*step).to_owned()))),
        ["sanitize", rest @ ..] => Err(format!(
            "`sanitize` takes no argument but `--step` with a name, and got `{}`.",
            rest.join(" ")
        )),
        ["example"] => Ok(Request::Example(None)),
        ["example", name] => Ok(Request::Example(Some((*name).to_owned()))),
        ["load"] => Ok(Request::Load),
        ["load", rest @ ..] => {
            Err(format!("`load` takes no argument, and got `{}`.", rest.join(" ")))
        }
        ["soak", "--seconds", seconds] if seconds.parse().is_ok_and(|seconds: u32| seconds > 0) => {
            Ok(Request::Soak(seconds.parse().unwrap_or_default()))
        }
        ["soak", rest @ ..] => {
            Err(format!("`soak` takes `--seconds` with a number, and got `{}`.", rest.join(" ")))
        }
        ["trust"] => Ok(Request::Trust),
        ["free-threaded"] => Ok(Request::FreeThreaded),
        ["example", rest @ ..] => {
            Err(format!("`example` takes one name, and got `{}`.", rest.join(" ")))
        }
        ["test"] => Ok(Request::Test { full: false }),
        ["test", "--full"] => Ok(Request::Test { full: true }),
        ["test", rest @ ..] => {
            Err(format!("`test` takes no argument but --full, and got `{}`.", rest.join(" ")))
        }
        [other, ..] => Err(format!("There is no command `{other}`.")),
    }
}

fn mutants(rest: &[&str]) -> Result<Choice, String> {
    match rest {
        [] => Ok(Choice::default()),
        ["--rust"] => Ok(Choice { with: Some(Runner::Machine), rule: None }),
        ["--miri"] => Ok(Choice { with: Some(Runner::Miri), rule: None }),
        ["--python"] => Ok(Choice { with: Some(Runner::Python), rule: None }),
        ["--rule", rule] => Ok(Choice { with: None, rule: Some((*rule).to_owned()) }),
        _ => Err(format!(
            "`mutants` takes `--rule` with a rule, `--rust`, `--miri`, `--python` or `--score`, and got `{}`.",
            rest.join(" ")
        )),
    }
}

fn fuzz(rest: &[&str]) -> Result<fuzz::Choice, String> {
    let (mut target, mut seconds) = (None, None);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match (*word, words.next()) {
            ("--target", Some(name)) if fuzz::TARGETS.contains(name) => {
                target = Some((*name).to_owned());
            }
            ("--seconds", Some(number)) => seconds = number.parse().ok().filter(|&n| n > 0),
            _ => {}
        }
    }
    let words = rest.len() == 2 * (usize::from(target.is_some()) + usize::from(seconds.is_some()));
    match seconds {
        Some(seconds) if words => Ok(fuzz::Choice { target, seconds }),
        _ => Err(format!(
            "`fuzz` takes `--seconds` with a number, and `--target` with one of {}; it got `{}`.",
            fuzz::TARGETS.join(", "),
            rest.join(" ")
        )),
    }
}

fn packages(command: &str, rest: &[&str]) -> Result<Packages, String> {
    match rest {
        [] => Ok(Packages::Base),
        ["--with", "torch"] | ["--with=torch"] => Ok(Packages::Torch),
        ["--with", "all"] | ["--with=all"] => Ok(Packages::MOST),
        _ => Err(format!(
            "`{command}` takes no argument but `--with torch` or `--with all`, and got `{}`.",
            rest.join(" ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn commands_are_understood() {
        assert_eq!(parsed(""), Ok(Request::Help));
        assert_eq!(parsed("test --help"), Ok(Request::Help));
        assert_eq!(parsed("demo"), Ok(Request::Demo(Packages::Base)));
        assert_eq!(parsed("demo --with torch"), Ok(Request::Demo(Packages::Torch)));
        assert_eq!(parsed("develop --with=torch"), Ok(Request::Develop(Packages::Torch)));
        assert_eq!(parsed("rules"), Ok(Request::Rules));
        assert_eq!(parsed("gpu"), Ok(Request::Gpu));
        assert_eq!(parsed("wheels"), Ok(Request::Wheels));
        assert_eq!(parsed("mutants"), Ok(Request::Mutants(Choice::default())));
        assert_eq!(parsed("mutants --score"), Ok(Request::Score(None)));
        let layout = Some("layout".to_owned());
        assert_eq!(parsed("mutants --score layout"), Ok(Request::Score(layout)));
        assert_eq!(parsed("api"), Ok(Request::Api { bless: false }));
        assert_eq!(parsed("api --bless"), Ok(Request::Api { bless: true }));
        let f4 = Choice { rule: Some("F4".to_owned()), with: None };
        assert_eq!(parsed("mutants --rule F4"), Ok(Request::Mutants(f4)));
        assert_eq!(parsed("develop --with all"), Ok(Request::Develop(Packages::MOST)));
        assert_eq!(parsed("conformance"), Ok(Request::Conformance));
        assert_eq!(parsed("matrix"), Ok(Request::Matrix));
        assert_eq!(parsed("example no-python"), Ok(Request::Example(Some("no-python".to_owned()))));
        assert_eq!(parsed("bench rust"), Ok(Request::BenchRust));
        assert_eq!(parsed("bench table"), Ok(Request::BenchTable));
        assert_eq!(parsed("bench python"), Ok(Request::BenchPython));
        assert_eq!(parsed("bench page"), Ok(Request::BenchPage));
        assert_eq!(parsed("bench all"), Ok(Request::BenchAll));
        assert_eq!(parsed("bench size"), Ok(Request::BenchSize));
        assert_eq!(parsed("bench instructions"), Ok(Request::BenchInstructions));
        assert_eq!(parsed("sanitize"), Ok(Request::Sanitize(None)));
        assert_eq!(parsed("load"), Ok(Request::Load));
        assert_eq!(parsed("soak --seconds 60"), Ok(Request::Soak(60)));
        assert_eq!(parsed("free-threaded"), Ok(Request::FreeThreaded));
        assert_eq!(parsed("trust"), Ok(Request::Trust));
        let miri = Some("miri".to_owned());
        assert_eq!(parsed("sanitize --step miri"), Ok(Request::Sanitize(miri)));
        let some = |target: Option<&str>, seconds| {
            Ok(Request::Fuzz(fuzz::Choice { target: target.map(str::to_owned), seconds }))
        };
        assert_eq!(parsed("fuzz --seconds 60"), some(None, 60));
        assert_eq!(parsed("fuzz --target layout --seconds 5"), some(Some("layout"), 5));
        assert_eq!(parsed("test"), Ok(Request::Test { full: false }));
        assert_eq!(parsed("test --full"), Ok(Request::Test { full: true }));
    }

    #[test]
    fn a_refusal_stays_in_sight() {
        let text = refusal(&parsed("wrongcommand").unwrap_err());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "error: There is no command `wrongcommand`.");
        assert_eq!(lines[1..], ["All commands: cargo xtask help"]);
    }

    #[test]
    fn unknown_words_are_named_in_the_refusal() {
        assert!(parsed("bake").unwrap_err().contains("`bake`"));
        assert!(parsed("demo --with cupy").unwrap_err().contains("--with cupy"));
        assert!(parsed("api --write").unwrap_err().contains("--write"));
        assert!(parsed("mutants --all").unwrap_err().contains("--all"));
        for wrong in ["fuzz", "fuzz --seconds 0", "fuzz --seconds 5 --target x", "fuzz layout 3"] {
            assert!(parsed(wrong).unwrap_err().contains("--seconds"), "{wrong}");
        }
        assert!(parsed("sanitize --fast").unwrap_err().contains("--fast"));
        assert!(parsed("soak").unwrap_err().contains("--seconds"));
        assert!(parsed("soak --seconds 0").unwrap_err().contains("--seconds"));
        assert!(parsed("load --fast").unwrap_err().contains("--fast"));
        assert!(parsed("matrix --fast").unwrap_err().contains("--fast"));
        assert!(parsed("test --fast").unwrap_err().contains("--fast"));
    }
}
