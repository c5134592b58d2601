//! Commands that do not depend on each other, as many at a time as there are processors.

use crate::checkout::Outcome;
use std::collections::VecDeque;
use std::io::Read;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::{Stage, TICK, spell, start};

/// A command that waits in the queue.
#[derive(Debug)]
pub(crate) struct Job {
    /// The name that the report prints.
    pub(crate) name: String,
    /// The program that runs.
    pub(crate) command: Command,
}

/// The result of a job.
struct Ended {
    name: String,
    /// The command line, and all that the command printed.
    log: Vec<u8>,
    passed: bool,
    seconds: f64,
}

impl Stage {
    /// Runs all jobs in their order, as many at a time as there are processors. The log
    /// has the output of each in one piece. An error names each job that failed.
    pub(crate) fn run_all(&mut self, jobs: Vec<Job>) -> Outcome {
        let total = jobs.len();
        let workers = thread::available_parallelism().map_or(1, usize::from).min(total);
        let queue = Mutex::new(VecDeque::from(jobs));
        // The lock is held while one job is taken, not while it runs.
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let (sender, results) = mpsc::channel();
        let mut failed = Vec::new();
        thread::scope(|scope| {
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(move || {
                    while let Some(job) = next() {
                        if sender.send(run(job)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            let (mut count, mut last) = (0, String::new());
            loop {
                match results.recv_timeout(TICK) {
                    Ok(ended) => {
                        count += 1;
                        last = format!("{count}/{total} {} ({:.0} s)", ended.name, ended.seconds);
                        self.write_log(&ended.log);
                        if !ended.passed {
                            failed.push(ended.name);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                self.show_progress(&last);
            }
        });
        self.end_progress();
        if failed.is_empty() {
            return Ok(());
        }
        let log = self.log_path.display();
        Err(format!("{} of {total} failed: {}; see {log}.", failed.len(), failed.join(", ")))
    }
}

/// Runs one job to its end.
fn run(job: Job) -> Ended {
    let Job { name, mut command } = job;
    let started = Instant::now();
    let mut log = format!("$ {}\n", spell(&command)).into_bytes();
    let ending = start(&mut command).and_then(|(mut child, mut output)| {
        output.read_to_end(&mut log)?;
        child.wait()
    });
    let seconds = started.elapsed().as_secs_f64();
    let (passed, result) = match ending {
        Ok(status) => (status.success(), status.to_string()),
        Err(error) => (false, format!("it does not start ({error}); install it")),
    };
    log.extend_from_slice(format!("$ {name}: {result}, {seconds:.1} s\n").as_bytes());
    Ended { name, log, passed, seconds }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Job, Stage};
    use crate::checkout::Checkout;

    #[test]
    fn all_jobs_run_and_those_that_fail_are_named() {
        let checkout = Checkout::find().unwrap();
        let mut stage = Stage::begin(&checkout, "test of the queue", "test of the queue").unwrap();
        let job = |name: &str, arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO"));
            command.args(arguments);
            Job { name: name.to_owned(), command }
        };
        let version = || job("version", &["--version"]);
        stage.run_all((0..5).map(|_| version()).collect()).unwrap();
        assert_eq!(stage.logged().matches("\ncargo 1.").count(), 5, "{}", stage.logged());
        let odd = job("odd", &["no-such-command"]);
        let none = Job { name: "none".to_owned(), command: Command::new("no-such-program") };
        let error = stage.run_all(vec![odd, version(), none]).unwrap_err();
        assert!(error.starts_with("2 of 3 failed: ") && error.contains("odd"), "{error}");
        assert!(stage.logged().contains("no such command: `no-such-command`"));
        assert!(stage.logged().contains("$ none: it does not start"));
        assert!(stage.run_all(vec![]).is_ok());
    }
}
