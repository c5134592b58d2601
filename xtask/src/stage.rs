//! Running programs: their output is in a log, and a message says that they still run.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::checkout::{make_folder, target};
use crate::outcome::{Ending, Outcome};

/// The interval between checks whether a program has ended.
const TICK: Duration = Duration::from_millis(10);
/// The interval between messages about a program that runs.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How many lines of a failing stage's log are printed.
const TAIL: usize = 80;

/// When the lines of a stage are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    /// At once, and programs of [`Stage::show`] print to the screen too.
    Shown,
    /// At once.
    Direct,
    /// When the stage has ended, because another stage runs at the same time.
    Held,
}

/// A named piece of work with its own log, announced when it begins.
#[derive(Debug)]
pub(crate) struct Stage {
    name: String,
    log_path: PathBuf,
    log: File,
    started: Instant,
    screen: Screen,
    /// The lines that are printed when the stage has ended.
    held: RefCell<String>,
}

/// A program that runs beside others.
struct Job {
    name: String,
    child: Outcome<Child>,
    output: PathBuf,
    started: Instant,
}

impl Stage {
    /// Announces `heading` and opens the log named after `name`.
    pub(crate) fn begin(heading: &str, name: &str, screen: Screen) -> Outcome<Self> {
        let file = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
        let log_path = target("xtask-logs").join(file + ".log");
        make_folder(&target("xtask-logs"))?;
        let log = File::create(&log_path)
            // Programs write to it too, each at its end.
            .and_then(|_| File::options().append(true).open(&log_path))
            .map_err(|error| format!("{} cannot be written ({error}).", log_path.display()))?;
        let is_held = screen == Screen::Held;
        println!("{heading}{}", if is_held { " begins beside the others" } else { "" });
        let held = RefCell::new(if is_held { format!("{heading}\n") } else { String::new() });
        Ok(Self { name: name.to_owned(), log_path, log, started: Instant::now(), screen, held })
    }

    /// Prints one line under the heading.
    pub(crate) fn note(&self, line: impl AsRef<str>) {
        self.print(&format!("        {}", line.as_ref()));
    }

    fn print(&self, line: &str) {
        if self.screen == Screen::Held {
            self.held.borrow_mut().extend([line, "\n"]);
        } else {
            println!("{line}");
        }
    }

    /// Prints the lines that were held, in one piece.
    pub(crate) fn release(&self) {
        print!("{}", self.held.take());
    }

    /// Seconds since the stage began.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// All that the programs of this stage printed so far.
    pub(crate) fn logged(&self) -> String {
        text_of(&self.log_path)
    }

    /// Adds text to the log.
    pub(crate) fn log(&self, text: &str) {
        if let Err(error) = (&self.log).write_all(text.as_bytes()) {
            eprintln!("warning: {} cannot be written ({error}).", self.log_path.display());
        }
    }

    /// Prints the last lines of the log, and those before them that name errors: tests go on after
    /// one that fails.
    pub(crate) fn print_tail(&self) {
        let log = self.logged();
        let lines: Vec<&str> = log.lines().collect();
        let (before, tail) = lines.split_at(lines.len().saturating_sub(TAIL));
        let is_error = |line: &&&str| {
            line.starts_with("error") || line.ends_with("FAILED") || line.contains("panicked at")
        };
        before.iter().filter(is_error).for_each(|line| self.print(line));
        if !before.is_empty() {
            self.note(format!("(the last lines of {})", self.log_path.display()));
        }
        for line in tail {
            self.print(line);
        }
    }

    /// Runs one program to its end. An error names the program and the log.
    pub(crate) fn run(&self, command: &mut Command) -> Outcome {
        self.output_of(command).map(drop)
    }

    /// As [`run`](Self::run), and returns what the program printed.
    pub(crate) fn output_of(&self, command: &mut Command) -> Outcome<String> {
        let before = self.logged().len();
        self.log(&format!("$ {}\n", spell(command)));
        let mut child = start(command, &self.log)?;
        let status = self.wait(&mut child, &self.log_path, None)?;
        if status.is_some_and(|status| status.success()) {
            return Ok(self.logged().get(before..).unwrap_or_default().to_owned());
        }
        let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
        Err(format!("`{}` failed{status}; see {}.", name_of(command), self.log_path.display()))
    }

    /// Runs a program that may fail. Returns whether it ended well and in time, and what it printed,
    /// which is not in the log.
    pub(crate) fn attempt(
        &self,
        command: &mut Command,
        limit: Option<Duration>,
    ) -> Outcome<(bool, String)> {
        let path = self.log_path.with_extension("attempt.log");
        let file = File::create(&path)
            .map_err(|error| format!("{} cannot be written ({error}).", path.display()))?;
        let mut child = start(command, &file)?;
        let passed = self.wait(&mut child, &path, limit)?.is_some_and(|status| status.success());
        Ok((passed, format!("$ {}\n{}", spell(command), text_of(&path))))
    }

    /// Runs a program whose output is for the user of a command: it prints to the screen, and to the
    /// log in a list of steps.
    pub(crate) fn show(&self, command: &mut Command) -> Outcome {
        if self.screen != Screen::Shown {
            return self.run(command);
        }
        println!();
        let status = command.stdin(Stdio::null()).status();
        let status = status.map_err(|error| cannot_start(command, &error))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed.", name_of(command))) }
    }

    /// Runs a program of tests, and fails where none ran.
    pub(crate) fn run_tests(&self, command: &mut Command) -> Ending {
        if some_ran(&self.output_of(command)?) { Ok(()) } else { Err("no test ran.".into()) }
    }

    /// Runs programs that do not depend on each other, in their order, as many at a time as there are
    /// processors, and at least two. The log has the output of each in one piece. Returns the outputs;
    /// an error names each program that failed.
    pub(crate) fn run_all(&self, jobs: Vec<(String, Command)>) -> Outcome<Vec<(String, String)>> {
        let workers = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
        let (total, mut waiting) = (jobs.len(), jobs.into_iter().enumerate());
        let (mut running, mut ended, mut failed) = (Vec::<Job>::new(), Vec::new(), Vec::new());
        let mut shown = Instant::now();
        while ended.len() < total {
            while running.len() < workers
                && let Some((number, (name, mut command))) = waiting.next()
            {
                let output = self.log_path.with_extension(format!("{number}.log"));
                let file = File::create(&output).map_err(|error| {
                    format!("{} cannot be written ({error}).", output.display())
                })?;
                self.log(&format!("$ {name}: {}\n", spell(&command)));
                let child = start(&mut command, &file);
                running.push(Job { name, child, output, started: Instant::now() });
            }
            for job in std::mem::take(&mut running) {
                let Job { name, mut child, output, started } = job;
                let status = match &mut child {
                    Ok(child) => child.try_wait().map_err(|error| error.to_string()),
                    Err(error) => Err(error.clone()),
                };
                let (passed, result) = match status {
                    Ok(None) => {
                        running.push(Job { name, child, output, started });
                        continue;
                    }
                    Ok(Some(status)) => (status.success(), status.to_string()),
                    Err(error) => (false, error),
                };
                let seconds = started.elapsed().as_secs_f64();
                let text = text_of(&output);
                drop(std::fs::remove_file(&output));
                self.log(&format!("{text}$ {name}: {result}, {seconds:.1} s\n"));
                failed.extend((!passed).then(|| name.clone()));
                ended.push((name, text));
            }
            if shown.elapsed() >= HEARTBEAT {
                shown = Instant::now();
                let names: Vec<&str> = running.iter().map(|job| &*job.name).collect();
                self.beat(&format!("{} of {total} ended; {}", ended.len(), names.join(", ")));
            }
            std::thread::sleep(TICK);
        }
        if failed.is_empty() {
            return Ok(ended);
        }
        let log = self.log_path.display();
        Err(format!("{} of {total} failed: {}; see {log}.", failed.len(), failed.join(", ")))
    }

    /// [`run_all`](Self::run_all) for programs of tests, each of which has to run some.
    pub(crate) fn run_all_tests(&self, jobs: Vec<(String, Command)>) -> Ending {
        match self.run_all(jobs)?.iter().find(|(_, output)| !some_ran(output)) {
            Some((name, _)) => Err(format!("no test ran: {name}.").into()),
            None => Ok(()),
        }
    }

    /// Waits for a program, and prints its last line now and then. Returns its status; nothing where
    /// it was ended after the limit.
    fn wait(
        &self,
        child: &mut Child,
        output: &Path,
        limit: Option<Duration>,
    ) -> Outcome<Option<ExitStatus>> {
        let (started, mut shown) = (Instant::now(), Instant::now());
        loop {
            let status = child.try_wait().map_err(|error| format!("no status ({error})."))?;
            if let Some(status) = status {
                return Ok(Some(status));
            }
            if limit.is_some_and(|limit| started.elapsed() > limit) {
                // It may have ended between the check and the kill.
                drop(child.kill());
                drop(child.wait());
                return Ok(None);
            }
            if shown.elapsed() >= HEARTBEAT {
                shown = Instant::now();
                let log = text_of(output);
                self.beat(log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(""));
            }
            std::thread::sleep(TICK);
        }
    }

    /// Prints that the stage still runs.
    fn beat(&self, what: &str) {
        let what: String = what.trim().chars().take(64).collect();
        println!("  {:>4.0} s {}: {what}", self.seconds(), self.name);
    }
}

/// Starts a program whose output, of both kinds, is added to a file.
fn start(command: &mut Command, file: &File) -> Outcome<Child> {
    let copy = || file.try_clone().map_err(|error| format!("no log ({error})."));
    command.stdin(Stdio::null()).stdout(copy()?).stderr(copy()?);
    command.spawn().map_err(|error| cannot_start(command, &error))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` does not start ({error}); install it.", command.get_program().to_string_lossy())
}

fn text_of(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn spell(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The words of a command line before its first option.
fn name_of(command: &Command) -> String {
    let spelled = spell(command);
    let words = spelled.split(' ').take_while(|word| !word.starts_with('-'));
    words.collect::<Vec<_>>().join(" ")
}

/// Whether the output of a test command names a test that passed.
fn some_ran(output: &str) -> bool {
    let mut lines = output.lines().filter(|line| line.starts_with("test result: ok."));
    lines.any(|line| !line.starts_with("test result: ok. 0 passed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cargo(word: &str) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.arg(word);
        command
    }

    #[test]
    fn all_jobs_run_and_those_that_fail_are_named() {
        let stage = Stage::begin("test of the queue", "test of the queue", Screen::Held).unwrap();
        let job = |name: &str, command| (name.to_owned(), command);
        let version = || job("version", cargo("--version"));
        let outputs = stage.run_all((0..5).map(|_| version()).collect()).unwrap();
        assert_eq!(outputs.iter().filter(|(_, text)| text.starts_with("cargo 1.")).count(), 5);
        let odd = job("odd", cargo("no-such-command"));
        let none = job("none", Command::new("no-such-program"));
        let error = stage.run_all(vec![odd, version(), none]).unwrap_err();
        assert!(error.starts_with("2 of 3 failed: ") && error.contains("odd"), "{error}");
        assert!(stage.logged().contains("no such command: `no-such-command`"));
    }

    #[test]
    fn a_program_passes_fails_or_is_too_slow() {
        let stage = Stage::begin("a program", "a program", Screen::Held).unwrap();
        assert!(stage.output_of(&mut cargo("--version")).unwrap().contains("\ncargo 1."));
        assert!(
            stage
                .run(&mut cargo("--nothing"))
                .unwrap_err()
                .contains("failed (exit status: 1); see ")
        );
        assert!(!stage.attempt(&mut cargo("--nothing"), None).unwrap().0);
        let now = Some(Duration::ZERO);
        assert!(!stage.attempt(&mut cargo("--version"), now).unwrap().0);
    }

    #[test]
    fn output_without_a_passed_test_is_no_run() {
        let none = "running 0 tests\ntest result: ok. 0 passed; 0 failed; 1 ignored\n";
        assert!(!some_ran("") && !some_ran(none));
        assert!(some_ran(&format!("{none}test result: ok. 1 passed; 0 failed; 0 ignored\n")));
    }
}
