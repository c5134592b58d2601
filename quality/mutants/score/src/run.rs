//! Runs the tests with one mutant switched on after the other.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Job;
use crate::compile::{Binary, OF_CONSTANTS, constant};
use crate::list::Mutant;

/// The room for marks, as the switch maps it.
const MARKS: usize = 1 << 14;

/// The result of one mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unviable,
    /// By which program.
    Noticed(String),
    /// By one that did not end.
    TimedOut(String),
    Survived,
    /// No test reaches it.
    Unreached,
}

/// A test program and its measurements.
struct Known<'a> {
    binary: &'a Binary,
    takes: Duration,
    reached: Vec<u8>,
}

pub(crate) fn run(
    job: &Job,
    mutants: &[Mutant],
    binaries: &[Binary],
) -> Result<Vec<Verdict>, String> {
    assert!(mutants.len() < MARKS, "more mutants than marks");
    let mut known = Vec::new();
    for binary in binaries {
        known.extend(measure(job, binary)?);
    }
    known.sort_by_key(|known| known.takes);
    let verdicts = Mutex::new(vec![Verdict::Unviable; mutants.len()]);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..job.jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mutant) = mutants.get(index) else { break };
                    if mutant.unviable {
                        continue;
                    }
                    let verdict = verdict(index + 1, &known);
                    if matches!(verdict, Verdict::Survived | Verdict::Unreached) {
                        println!("{verdict:?}: {}", mutant.name);
                    }
                    if let Ok(mut verdicts) = verdicts.lock() {
                        verdicts[index] = verdict;
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done % 100 == 0 {
                        println!("{done} done");
                    }
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().map_err(|_| "a thread panicked.".to_owned())?;
    for (index, mutant) in mutants.iter().enumerate() {
        if verdicts[index] == Verdict::Unreached && mutant.constant {
            verdicts[index] = at_compile_time(job, index + 1)?;
            println!("{:?}, at compile time: {}", verdicts[index], mutant.name);
        }
    }
    Ok(verdicts)
}

/// A mutant that no test reaches at run time may have been evaluated at compile time.
fn at_compile_time(job: &Job, number: usize) -> Result<Verdict, String> {
    for tests in OF_CONSTANTS {
        let Some(binaries) = constant(job, number, tests)? else {
            return Ok(Verdict::Noticed("the compiler".to_owned()));
        };
        for binary in &binaries {
            let mut command = command(binary, 0);
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let child = child.map_err(|error| format!("{}: {error}.", binary.name))?;
            match passes(child, Duration::from_secs(200)) {
                Some(true) => {}
                Some(false) => return Ok(Verdict::Noticed(binary.name.clone())),
                None => return Ok(Verdict::TimedOut(binary.name.clone())),
            }
        }
    }
    Ok(Verdict::Unreached)
}

/// Runs a program without a mutant: it must pass, and records the mutants that it
/// reaches. `None` for a program that fails and reaches none: it checks the sources, which
/// have additional code here.
fn measure<'a>(job: &Job, binary: &'a Binary) -> Result<Option<Known<'a>>, String> {
    let marks = job.target.join("reached");
    fs::write(&marks, vec![0; MARKS]).map_err(|error| format!("no marks ({error})."))?;
    let started = Instant::now();
    let mut command = command(binary, 0);
    command.env("DLPACK_REACHED", &marks);
    let output = command.output().map_err(|error| format!("{}: {error}.", binary.name))?;
    let takes = started.elapsed();
    let reached = fs::read(&marks).map_err(|error| format!("no marks ({error})."))?;
    let count = reached.iter().filter(|&&mark| mark != 0).count();
    if !output.status.success() {
        if count == 0 {
            println!("{} is left out: it reaches none, and fails here", binary.name);
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(format!("{} fails without a mistake:\n{said}", binary.name));
    }
    println!("{:24} {:6.2} s, reaches {count}", binary.name, takes.as_secs_f64());
    Ok(Some(Known { binary, takes, reached }))
}

fn command(binary: &Binary, number: usize) -> Command {
    // A mutant may allocate all memory that there is.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 6000000; ulimit -c 0; exec \"$0\" --test-threads=2"]);
    command.arg(&binary.program).current_dir(&binary.folder);
    command.env("DLPACK_SWITCH", number.to_string()).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null());
    command
}

fn verdict(number: usize, known: &[Known<'_>]) -> Verdict {
    let mut reached = false;
    for known in known.iter().filter(|known| known.reached[number] != 0) {
        reached = true;
        let name = known.binary.name.clone();
        let mut command = command(known.binary, number);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = child else { continue };
        let limit = known.takes * 20 + Duration::from_secs(20);
        match passes(child, limit) {
            Some(true) => {}
            Some(false) => return Verdict::Noticed(name),
            None => return Verdict::TimedOut(name),
        }
    }
    if reached { Verdict::Survived } else { Verdict::Unreached }
}

/// Whether it passed, if it ended in time.
fn passes(mut child: Child, limit: Duration) -> Option<bool> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if started.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            _ => {
                // It may have ended by itself just now.
                drop(child.kill());
                drop(child.wait());
                return None;
            }
        }
    }
}
