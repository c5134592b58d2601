//! Stream capture: work is recorded instead of run, and some calls are rejected
//! meanwhile.

use std::cell::Cell;
use std::collections::HashMap;

use crate::state::{State, thread_id};
use crate::status::Status;
use crate::stream::Which;
use crate::work::Work;

/// Whom a capture keeps from calls that could be part of it unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every thread.
    Global,
    /// The thread that began it.
    ThreadLocal,
    /// No thread.
    Relaxed,
}

impl Mode {
    pub(crate) fn from_code(code: u32) -> Result<Self, Status> {
        match code {
            0 => Ok(Mode::Global),
            1 => Ok(Mode::ThreadLocal),
            2 => Ok(Mode::Relaxed),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Mode::Global => 0,
            Mode::ThreadLocal => 1,
            Mode::Relaxed => 2,
        }
    }
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Sets how this thread answers to captures; returns how it did before.
pub(crate) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// How much of the work of each stream precedes a moment in a capture.
pub(crate) type Clock = HashMap<Which, usize>;

/// A capture that was begun.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) origin: Which,
    pub(crate) thread: u64,
    mode: Mode,
    nodes: Vec<Work>,
    /// The work that precedes the next work of each participating stream.
    clocks: HashMap<Which, Clock>,
    broken: bool,
}

impl Capture {
    pub(crate) fn begin(origin: Which, mode: Mode) -> Self {
        let clocks = HashMap::from([(origin, Clock::new())]);
        Self { origin, thread: thread_id(), mode, nodes: Vec::new(), clocks, broken: false }
    }

    fn check(&self) -> Result<(), Status> {
        if self.broken { Err(Status::CAPTURE_INVALIDATED) } else { Ok(()) }
    }

    /// Records work of a stream that takes part.
    pub(crate) fn record(&mut self, which: Which, work: Work) -> Result<(), Status> {
        self.check()?;
        self.nodes.push(work);
        *self.clocks.entry(which).or_default().entry(which).or_default() += 1;
        Ok(())
    }

    /// Returns the work that precedes the next work of a participating stream.
    pub(crate) fn clock(&self, which: Which) -> Result<Clock, Status> {
        self.check()?;
        Ok(self.clocks.get(&which).cloned().unwrap_or_default())
    }

    /// Orders a stream after a moment. The stream takes part from now on.
    pub(crate) fn join(&mut self, which: Which, after: &Clock) -> Result<(), Status> {
        self.check()?;
        let clock = self.clocks.entry(which).or_default();
        for (stream, count) in after {
            let known = clock.entry(*stream).or_default();
            *known = (*known).max(*count);
        }
        Ok(())
    }

    /// The streams that take part.
    pub(crate) fn streams(&self) -> Vec<Which> {
        self.clocks.keys().copied().collect()
    }

    /// Returns the work in an order that respects every recorded dependency.
    pub(crate) fn end(self) -> Result<Vec<Work>, Status> {
        self.check()?;
        let seen = &self.clocks[&self.origin];
        let joined = self.clocks.iter().all(|(stream, clock)| {
            let asked = clock.get(stream).copied().unwrap_or(0);
            seen.get(stream).copied().unwrap_or(0) >= asked
        });
        if joined { Ok(self.nodes) } else { Err(Status::CAPTURE_UNJOINED) }
    }
}

impl State {
    /// Rejects a call that is not recorded but could change the recorded work, by the
    /// mode of the thread. The capture becomes invalid.
    pub(crate) fn check_unsafe_in_capture(&mut self) -> Result<(), Status> {
        let (thread, mine) = (thread_id(), MODE.get());
        let mut refused = false;
        for capture in self.captures.values_mut() {
            let own = capture.thread == thread && capture.mode != Mode::Relaxed;
            let others = capture.mode == Mode::Global && mine == Mode::Global;
            if mine != Mode::Relaxed && (own || others) {
                capture.broken = true;
                refused = true;
            }
        }
        if refused { Err(Status::CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    /// Rejects calls that are not allowed on a captured stream.
    pub(crate) fn check_not_capturing(&mut self, which: Which) -> Result<(), Status> {
        match self.streams.get(&which).and_then(|stream| stream.capture) {
            Some(id) => Err(self.spoil(id, Status::CAPTURE_UNSUPPORTED)),
            None => Ok(()),
        }
    }

    /// Rejects calls that are not allowed while any stream of a device is captured.
    pub(crate) fn check_none_captures(&mut self, ordinal: usize) -> Result<(), Status> {
        let mut own = self.streams.iter().filter(|(_, stream)| stream.ordinal == ordinal);
        match own.find(|(_, stream)| stream.capture.is_some()).map(|(which, _)| *which) {
            Some(which) => self.check_not_capturing(which),
            None => Ok(()),
        }
    }

    /// A capture of a stream that takes turns with the legacy default stream.
    pub(crate) fn implicit(&self, ordinal: usize) -> Option<usize> {
        let mut turns = self.streams.values().filter(|s| s.ordinal == ordinal && s.blocking);
        turns.find_map(|stream| stream.capture)
    }

    /// Refuses work on a legacy default stream while there is one.
    pub(crate) fn check_implicit(&mut self, ordinal: usize) -> Result<(), Status> {
        match self.implicit(ordinal) {
            Some(id) => Err(self.spoil(id, Status::CAPTURE_IMPLICIT)),
            None => Ok(()),
        }
    }

    /// A capture in which something was done that cannot be recorded.
    pub(crate) fn spoil(&mut self, id: usize, status: Status) -> Status {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.broken = true;
        }
        status
    }
}
