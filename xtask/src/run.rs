//! Running programs: their output goes to a log, their last line to the terminal.

pub(crate) mod queue;

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::checkout::{Checkout, Outcome};

/// The interval between progress messages on a terminal.
pub(crate) const TICK: Duration = Duration::from_millis(250);
/// The interval between progress messages in a captured log.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(30);
/// How many lines of a failing stage's log are printed.
const TAIL: usize = 80;
/// How much of a line fits beside the seconds on a terminal.
const WIDTH: usize = 64;

/// When the lines of a stage are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Screen {
    /// At once, with its progress.
    Direct,
    /// When it has ended, because another stage runs at the same time.
    Held,
}

/// A named piece of work with its own log, announced when it begins.
#[derive(Debug)]
pub(crate) struct Stage {
    log_path: PathBuf,
    log: File,
    started: Instant,
    shown: Instant,
    live: bool,
    /// The lines that are printed when the stage has ended, below its heading; `None` if lines are
    /// printed at once.
    held: Option<RefCell<String>>,
}

impl Stage {
    /// Announces `heading` and opens the log named after `name`.
    pub(crate) fn begin(checkout: &Checkout, heading: &str, name: &str) -> Outcome<Self> {
        Self::begin_on(checkout, heading, name, Screen::Direct)
    }

    /// [`begin`](Self::begin), with lines that are printed as the screen says.
    pub(crate) fn begin_on(
        checkout: &Checkout,
        heading: &str,
        name: &str,
        screen: Screen,
    ) -> Outcome<Self> {
        let log_path = checkout.log(name);
        let unwritable = |error| {
            format!(
                "{} cannot be written ({error}); free the disk or its rights.",
                log_path.display()
            )
        };
        if let Some(folder) = log_path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        File::create(&log_path).map_err(unwritable)?;
        // Other programs may write to it too.
        let log = File::options().append(true).open(&log_path).map_err(unwritable)?;
        let now = Instant::now();
        let live = std::io::stdout().is_terminal() && std::env::var_os("CI").is_none();
        let held = match screen {
            Screen::Direct => None,
            Screen::Held => Some(RefCell::new(format!("{heading}\n"))),
        };
        let stage = Self { log_path, log, started: now, shown: now, live, held };
        stage.clear_progress();
        let begins = if stage.held.is_some() { " begins beside the others" } else { "" };
        println!("{heading}{begins}");
        Ok(stage)
    }

    /// Prints one line under the heading.
    pub(crate) fn note(&self, line: &str) {
        self.print(&format!("        {line}"));
    }

    fn print(&self, line: &str) {
        match &self.held {
            None => println!("{line}"),
            Some(held) => {
                let mut held = held.borrow_mut();
                held.push_str(line);
                held.push('\n');
            }
        }
    }

    /// Prints the lines that were held, in one piece.
    pub(crate) fn release(&self) {
        if let Some(held) = &self.held {
            // The other stage may have printed its progress.
            self.clear_progress();
            print!("{}", held.take());
            flush();
        }
    }

    /// Prints that the stage ended well, and when.
    pub(crate) fn done(&self, result: &str) {
        self.note(&format!("{result} in {:.1} s", self.seconds()));
    }

    /// Seconds since the stage began.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Where the log is.
    pub(crate) fn log_path(&self) -> &std::path::Path {
        &self.log_path
    }

    /// All that the programs of this stage printed so far.
    pub(crate) fn logged(&self) -> String {
        std::fs::read(&self.log_path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// What they printed since the log had this length.
    pub(crate) fn logged_since(&self, length: u64) -> String {
        let log = std::fs::read(&self.log_path).unwrap_or_default();
        let start = usize::try_from(length).unwrap_or(log.len());
        String::from_utf8_lossy(log.get(start..).unwrap_or_default()).into_owned()
    }

    /// How long the log is, in bytes.
    pub(crate) fn log_length(&self) -> Outcome<u64> {
        self.log.metadata().map(|data| data.len()).map_err(|error| self.unwritable(&error))
    }

    /// Takes out of the log what was written to it since it had this length.
    pub(crate) fn forget_since(&self, length: u64) -> Outcome {
        // The file is open for appending, so the next write goes to the new end.
        self.log.set_len(length).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> String {
        format!("{} cannot be written ({error}).", self.log_path.display())
    }

    /// Prints the last lines of the log, by which a failure explains itself.
    pub(crate) fn print_tail(&self) {
        let log = self.logged();
        let lines: Vec<&str> = log.lines().collect();
        let first = lines.len().saturating_sub(TAIL);
        if first > 0 {
            // Tests go on after one that fails, and may push it out of the tail.
            for line in failures(&lines[..first]) {
                self.print(line);
            }
            self.note(&format!("(the last {TAIL} lines of {})", self.log_path.display()));
        }
        for line in &lines[first..] {
            self.print(line);
        }
    }

    /// Runs one program to its end. An error says which program failed and how;
    /// callers who know more replace the sentence.
    pub(crate) fn run(&mut self, command: &mut Command) -> Outcome {
        let spelled = spell(command);
        self.write_log(format!("$ {spelled}\n").as_bytes());
        let program = command.get_program().to_string_lossy().into_owned();
        let cannot =
            |error: std::io::Error| format!("`{program}` does not start ({error}); install it.");

        let (mut child, reader) = start(command).map_err(cannot)?;
        let (sender, lines) = mpsc::channel();
        let reading = thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        self.follow(&lines);
        let status = child.wait().map_err(cannot)?;
        // The reader thread ended when the pipe closed, and returns nothing.
        drop(reading.join());
        if status.success() {
            return Ok(());
        }
        let log = self.log_path.display();
        Err(format!("`{}` failed ({status}); see {log}.", name_of(&spelled)))
    }

    /// Logs lines, and shows that time passes, until the program closes its output.
    fn follow(&mut self, lines: &Receiver<Vec<u8>>) {
        let mut last = String::new();
        loop {
            match lines.recv_timeout(TICK) {
                Ok(line) => {
                    self.write_log(&line);
                    let text = String::from_utf8_lossy(&line);
                    if !text.trim().is_empty() {
                        text.trim().clone_into(&mut last);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.show_progress(&last);
        }
        self.end_progress();
    }

    /// Removes the progress line that this stage printed.
    fn end_progress(&self) {
        if self.held.is_none() {
            self.clear_progress();
        }
    }

    /// Removes the progress line of a terminal.
    fn clear_progress(&self) {
        if self.live {
            print!("\r\x1b[K");
            flush();
        }
    }

    fn show_progress(&mut self, last: &str) {
        let interval = if self.live { TICK } else { HEARTBEAT };
        if self.held.is_some() || self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        let text: String = last.chars().take(WIDTH).collect();
        let seconds = self.started.elapsed().as_secs();
        if self.live {
            print!("\r\x1b[K  {seconds:>4} s {text}");
        } else {
            println!("  {seconds:>4} s {text}");
        }
        flush();
    }

    fn write_log(&mut self, bytes: &[u8]) {
        if let Err(error) = self.log.write_all(bytes) {
            eprintln!("warning: {}", self.unwritable(&error));
        }
    }
}

/// Starts a program whose output, of both kinds, comes through one pipe.
fn start(command: &mut Command) -> std::io::Result<(Child, PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    let second_writer = writer.try_clone()?;
    let child = command.stdin(Stdio::null()).stdout(writer).stderr(second_writer).spawn();
    // The command still holds the writing ends, which must close with the child.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child?, reader))
}

/// `cargo`, in the checkout, without colours in its output.
pub(crate) fn cargo(checkout: &Checkout) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(checkout.root()).env("CARGO_TERM_COLOR", "never");
    command
}

/// The variable by which PyO3 builds an extension module, which is not linked with Python's library,
/// as maturin sets it.
pub(crate) const EXTENSION_MODULE: (&str, &str) = ("PYO3_BUILD_EXTENSION_MODULE", "1");

/// `cargo` of another toolchain than the one that runs this.
pub(crate) fn cargo_of(checkout: &Checkout, toolchain: &str) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", toolchain, "cargo"])
        .current_dir(checkout.root())
        .env("CARGO_TERM_COLOR", "never");
    command
}

/// What a short program prints, or nothing where it fails or does not exist.
pub(crate) fn answer_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    output
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `PATH` with a folder of programs before the others.
pub(crate) fn path_with(folder: &Path) -> Outcome<OsString> {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&rest)))
        .map_err(|error| format!("{} cannot be a part of PATH ({error}).", folder.display()))
}

fn spell(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The words of a command line before its first option.
fn name_of(spelled: &str) -> String {
    let words = spelled.split(' ').take_while(|word| !word.starts_with('-'));
    words.collect::<Vec<_>>().join(" ")
}

/// What failed tests said, and their names, without the ways to where they panicked.
fn failures<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut said = Vec::new();
    let (mut is_failure, mut is_way) = (false, false);
    for &line in lines {
        is_failure |= line == "failures:";
        is_way = (is_way || line == "stack backtrace:") && !line.is_empty();
        if is_failure && !is_way {
            said.push(line);
        }
        is_failure &= !line.starts_with("test result:");
    }
    said
}

fn flush() {
    // A closed standard output is noticed by the next `println!`.
    drop(std::io::stdout().flush());
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn failures_are_found_among_what_passed() {
        let log = [
            "test one ... ok",
            "failures:",
            "---- two stdout ----",
            "two is three",
            "stack backtrace:",
            "   0: core::panicking::panic_fmt",
            "",
            "failures:",
            "    two",
            "test result: FAILED. 1 passed; 1 failed",
            "test result: ok. 1 passed",
        ];
        let said = failures(&log);
        assert_eq!(said[..3], ["failures:", "---- two stdout ----", "two is three"]);
        assert_eq!(
            said[3..],
            ["", "failures:", "    two", "test result: FAILED. 1 passed; 1 failed"]
        );
    }
}
