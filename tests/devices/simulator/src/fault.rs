//! Calls that fail on request, and callbacks before a call: [`Faults`].

use std::collections::HashMap;

use crate::status::Status;
use crate::work::Callback;

/// Which call is to fail.
#[derive(Debug)]
struct Fault {
    /// The function that fails; any, if there is none.
    name: Option<String>,
    /// How many more calls succeed.
    after: u32,
    status: Status,
}

/// How often each function was called, and which call is to fail.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    calls: HashMap<&'static str, u32>,
    planned: Option<Fault>,
    fired: Option<&'static str>,
    /// The function before which the program is called, once.
    before: Option<(String, Callback)>,
}

impl Faults {
    /// The call after `after` more ones of `name`, or of any function, fails.
    pub(crate) fn plan(&mut self, name: Option<String>, after: u32, status: Status) {
        self.planned = Some(Fault { name, after, status });
        self.fired = None;
    }

    /// No call fails any more.
    pub(crate) fn clear(&mut self) {
        self.planned = None;
        self.fired = None;
    }

    /// The function that failed on request, if one did.
    pub(crate) fn fired(&self) -> Option<&'static str> {
        self.fired
    }

    /// The next call of `name` first calls the program.
    pub(crate) fn call_before(&mut self, name: String, callback: Callback) {
        self.before = Some((name, callback));
    }

    /// Removes and returns the callback to run before this function.
    pub(crate) fn take_before(&mut self, name: &str) -> Option<Callback> {
        let (_, callback) = self.before.take_if(|(wanted, _)| wanted == name)?;
        Some(callback)
    }

    /// How often a function was called.
    pub(crate) fn calls(&self, name: &str) -> u32 {
        self.calls.get(name).copied().unwrap_or(0)
    }

    /// Counts a call. An error if it is to fail.
    pub(crate) fn enter(&mut self, name: &'static str) -> Result<(), Status> {
        *self.calls.entry(name).or_default() += 1;
        let Some(fault) = &mut self.planned else { return Ok(()) };
        if fault.name.as_ref().is_some_and(|wanted| wanted != name) {
            return Ok(());
        }
        if fault.after > 0 {
            fault.after -= 1;
            return Ok(());
        }
        let status = fault.status;
        self.planned = None;
        self.fired = Some(name);
        Err(status)
    }
}
