//! Runs a check on a thread of its own ([`Trial`]), with buffers and copies among them, and collects
//! the results ([`Report`]).

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::hooks::{Gate, Hooks};
use crate::backend::staged::to_host;
use crate::backend::{Backend, DeviceBuffer, MemoryRef, Stream as _, WorkStream};
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

/// What the kit found about a backend on a device. `Display` prints a line for each check.
#[derive(Clone, Debug)]
#[must_use = "a backend that breaks an obligation is reported here only"]
#[non_exhaustive]
pub struct Report {
    /// The name of the type.
    pub backend: &'static str,
    /// The device.
    pub device: Device,
    /// The obligations that the backend breaks. The first one may be the reason for the others.
    pub findings: Vec<Finding>,
    /// The checks that were not run, and what they lack.
    pub not_run: Vec<(&'static str, String)>,
    /// The checks that found nothing.
    pub passed: Vec<&'static str>,
}

/// An obligation that a backend breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// The obligation, by the list that it is in: "`Stream` 5".
    pub obligation: &'static str,
    /// What happened.
    pub text: String,
}

impl Report {
    /// Whether the kit found nothing.
    pub fn is_pass(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [self.passed.len(), self.findings.len(), self.not_run.len()];
        let [passed, failed, not_run] = counts;
        write!(f, "{} on {}: ", self.backend, self.device)?;
        writeln!(f, "{passed} checks passed, {failed} failed, {not_run} not run")?;
        for Finding { check, obligation, text } in &self.findings {
            writeln!(f, "FAILED   {check}: {obligation}: {text}")?;
        }
        for (check, reason) in &self.not_run {
            writeln!(f, "not run  {check}: {reason}")?;
        }
        self.passed.iter().try_for_each(|check| writeln!(f, "passed   {check}"))
    }
}

/// Elements of the buffers.
pub(super) const COUNT: usize = 16;

/// A buffer of the stream with one value in all elements. The host waits for it.
pub(super) fn filled<B: Backend>(
    stream: &WorkStream<B>,
    value: u32,
) -> Result<DeviceBuffer<B>, Error> {
    DeviceBuffer::from_slice_on(stream.clone(), &[value; COUNT])
}

/// Enqueues a copy of all elements on a stream.
pub(super) fn copy<B: Backend>(
    stream: &WorkStream<B>,
    from: &DeviceBuffer<B>,
    to: &DeviceBuffer<B>,
) -> Result<(), Error> {
    copy_part(stream, (from, 0), (to, 0), COUNT)
}

/// Enqueues a copy of `count` elements on a stream, from one index to another.
pub(super) fn copy_part<B: Backend>(
    stream: &WorkStream<B>,
    from: (&DeviceBuffer<B>, usize),
    to: (&DeviceBuffer<B>, usize),
    count: usize,
) -> Result<(), Error> {
    let ((from, _), (to, _)) = (part(from, count)?, part(to, count)?);
    // SAFETY: 1. Both buffers have the bytes, and are different. The checks drop a buffer only after
    // the copy, or after its stream was recorded for the free: a backend that frees too early is
    // what they look for.
    unsafe { B::copy(stream, from, to, count.saturating_mul(4)) }
}

/// The bytes of a buffer from an element on, after the work on its stream.
pub(super) fn end_of<B: Backend>(buffer: &DeviceBuffer<B>, first: usize) -> Result<Vec<u8>, Error> {
    let (place, rest) = part((buffer, first), 0)?;
    let mut bytes = vec![0; rest];
    // SAFETY: 1. The buffer has as many bytes from there on, and is freed after the work of its
    // stream.
    unsafe { to_host(buffer.stream(), place, &mut bytes) }?;
    Ok(bytes)
}

/// The location of `count` elements of a buffer, and the number of bytes from there to its end.
fn part<B: Backend>(
    (buffer, first): (&DeviceBuffer<B>, usize),
    count: usize,
) -> Result<(MemoryRef, usize), Error> {
    let (start, len) = (first.saturating_mul(4), count.saturating_mul(4));
    let rest = buffer.byte_len().checked_sub(start).filter(|&rest| len <= rest);
    let rest = rest.ok_or(Error::NoSuchElement)?;
    let place = buffer.place();
    let byte_offset = place.byte_offset.saturating_add(start as u64);
    Ok((MemoryRef { byte_offset, ..place }, rest))
}
