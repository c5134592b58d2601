//! Runs a check on a thread of its own: [`Trial`].

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::hooks::{Gate, Hooks};
use super::report::{Finding, Report};
use crate::backend::{Backend, DeviceBuffer, Stream as _, WorkStream};
use crate::device::Device;
use crate::error::Error;

/// The time that is given to work to run although it should wait.
const PAUSE: Duration = Duration::from_millis(if cfg!(miri) { 1 } else { 60 });

/// A check, by its name.
pub(super) type Check<B> = (&'static str, fn(&Trial<B>) -> Outcome);

/// `Ok` if the obligations of a check hold.
pub(super) type Outcome = Result<(), Stop>;

/// Why a check ends early.
pub(super) enum Stop {
    /// An obligation is broken.
    Broken(&'static str, String),
    /// A call failed; the obligation is that of the step.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

/// What a check does at the moment: the obligation that it tests, and the call.
type Step = (&'static str, &'static str);

/// A device with its hooks, the closed gates, and the step of the running check.
pub(super) struct Trial<B: Backend>(Arc<State<B>>);

struct State<B: Backend> {
    device: Device,
    hooks: Box<dyn Hooks<B>>,
    gates: Mutex<Vec<Gate>>,
    step: Mutex<Step>,
}

/// A panic of a hook is reported, so a lock that it poisoned is used again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Backend> Trial<B> {
    pub(super) fn new(device: Device, hooks: impl Hooks<B>) -> Self {
        let (gates, step) = (Mutex::new(Vec::new()), Mutex::new(("", "")));
        Self(Arc::new(State { device, hooks: Box::new(hooks), gates, step }))
    }

    /// Runs a check. Returns `false` if it does not end.
    pub(super) fn run(&self, check: &Check<B>, report: &mut Report) -> bool {
        let (check, run) = *check;
        let (trial, patience) = (Self(Arc::clone(&self.0)), self.hooks().patience());
        let (done, ended) = channel();
        thread::spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&trial)));
            trial.open();
            // The kit has given up on this check.
            let _ = done.send(outcome);
        });
        let outcome = ended.recv_timeout(patience);
        let (mut obligation, call) = *lock(&self.0.step);
        let mut ends = true;
        let text = match outcome {
            Ok(Ok(Ok(()))) => {
                report.passed.push(check);
                return true;
            }
            Ok(Ok(Err(Stop::Broken(broken, text)))) => {
                obligation = broken;
                text
            }
            Ok(Ok(Err(Stop::Failed(
                error @ (Error::Unsupported { .. } | Error::StreamUntracked { .. }),
            )))) => {
                report.not_run.push((check, error.to_string()));
                return true;
            }
            Ok(Ok(Err(Stop::Failed(error)))) => format!("{call} failed: {error}"),
            Ok(Err(_)) => format!("{call} panicked"),
            Err(_) => {
                self.open();
                ends = ended.recv_timeout(patience).is_ok();
                let how = if ends { "waited for the gate on the host" } else { "did not return" };
                format!("{call} {how}")
            }
        };
        report.findings.push(Finding { check, obligation, text });
        ends
    }

    pub(super) fn device(&self) -> Device {
        self.0.device
    }

    pub(super) fn hooks(&self) -> &dyn Hooks<B> {
        &*self.0.hooks
    }

    /// The next calls test this obligation; an error, a panic or a wait in them breaks it.
    pub(super) fn step(&self, obligation: &'static str, call: &'static str) {
        *lock(&self.0.step) = (obligation, call);
    }

    /// A stream of the hooks.
    pub(super) fn stream(&self, index: usize) -> Result<WorkStream<B>, Error> {
        self.step("`Hooks`", "`stream`");
        let stream = self.hooks().stream(self.device(), index)?;
        self.step("`allocate` and `copy`, promises", "an allocation, or a copy from the host,");
        Ok(stream)
    }

    /// The end of a check for which the device has not what is needed.
    pub(super) fn lacks(&self, what: &'static str) -> Stop {
        Stop::Failed(Error::Unsupported { device: self.device(), what })
    }

    /// Closes a gate on the stream, until [`open`](Self::open) or the end of the check.
    pub(super) fn hold(&self, stream: &WorkStream<B>) -> Outcome {
        self.step("`Hooks`", "`gate`");
        let gate = self.hooks().gate(stream)?;
        lock(&self.0.gates).push(gate);
        Ok(())
    }

    /// Opens all gates.
    pub(super) fn open(&self) {
        // The lock is free while the hooks run.
        let gates = core::mem::take(&mut *lock(&self.0.gates));
        for open in gates {
            open();
        }
    }

    /// Whether no gate is closed.
    pub(super) fn is_open(&self) -> bool {
        lock(&self.0.gates).is_empty()
    }

    /// Opens all gates after a pause.
    pub(super) fn pause_and_open(&self) {
        thread::sleep(PAUSE);
        self.open();
    }

    /// Opens all gates later, while this thread makes a call that may wait.
    pub(super) fn open_later(&self) {
        let later = Self(Arc::clone(&self.0));
        thread::spawn(move || later.pause_and_open());
    }

    /// Compares a buffer with one value, after the work on its stream.
    pub(super) fn expect(
        &self,
        buffer: &DeviceBuffer<B>,
        value: u32,
        obligation: &'static str,
        text: &str,
    ) -> Outcome {
        self.step(obligation, "the work on the memory, or the copy to the host,");
        buffer.stream().stream().fence()?;
        let text = match buffer.to_vec::<u32>() {
            Ok(found) => match found.iter().find(|&&found| found != value) {
                Some(found) => format!("{text}: expected {value}, found {found}"),
                None => return Ok(()),
            },
            Err(error @ Error::Device { .. }) => format!("{text}: {error}"),
            Err(error) => return Err(error.into()),
        };
        Err(Stop::Broken(obligation, text))
    }
}

/// `Ok` if the condition holds.
pub(super) fn ensure(holds: bool, obligation: &'static str, text: &str) -> Outcome {
    if holds { Ok(()) } else { Err(Stop::Broken(obligation, text.into())) }
}
