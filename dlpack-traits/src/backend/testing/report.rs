//! The result of the kit: [`Report`].

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::device::Device;

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
