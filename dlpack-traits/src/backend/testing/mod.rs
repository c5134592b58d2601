//! A conformance kit for backends: [`conform`].
//!
//! A vendor runs it in a test of its own, on its own machine and without Python. It uses the device
//! by the functions of [`Backend`] and [`Stream`](super::Stream) alone, holds streams back by the
//! gates of the vendor's [`Hooks`], and compares what the device wrote with what the numbered
//! obligations promise. So no check depends on the speed of a device: a pause only gives work that
//! should wait the time to run too early.
//!
//! The result is a value ([`Report`]). A check runs on a thread of its own, so a call that never
//! returns is a finding too.

mod check;
mod hooks;
mod memory;
mod streams;

use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::any::type_name;

pub use check::{Finding, Report};
pub use hooks::{Gate, Hooks, NoGate};

use crate::backend::Backend;
use crate::device::Device;
use check::{Check, Trial};

/// Checks a backend on a device, obligation by obligation, and reports the ones that it breaks.
///
/// The lists are in the documentation of [`Backend`], [`Stream`](super::Stream),
/// [`Event`](super::Event) and [`WorkStream::new`](super::WorkStream::new), and of the functions of
/// `Backend` (their promises). A check that the backend or the hooks do not support is not run, and
/// the report lists it. If there is a device with the next index, it is checked too.
///
/// ```
/// use dlpack_traits::Device;
/// use dlpack_traits::backend::{Cpu, testing};
///
/// let report = testing::conform::<Cpu>(Device::CPU, testing::NoGate);
/// assert!(report.is_pass(), "{report}");
/// ```
pub fn conform<B: Backend>(device: Device, hooks: impl Hooks<B>) -> Report {
    let (findings, not_run, passed) = (Vec::new(), Vec::new(), Vec::new());
    let mut report = Report { backend: type_name::<B>(), device, findings, not_run, passed };
    let trial = Trial::new(device, hooks);
    let first: Check<B> = ("wait of the host", streams::wait_of_the_host);
    let checks = streams::checks().into_iter().chain(memory::checks());
    let checks = core::iter::once(first).chain(memory::first_checks()).chain(checks);
    for check in checks.chain(streams::last_checks()) {
        let ends = trial.run(&check, &mut report);
        let reason = match report.findings.last() {
            _ if !ends => "a call did not return",
            Some(finding) if finding.check == first.0 => "they rely on the wait of the host",
            _ => continue,
        };
        report.not_run.push(("all other checks", reason.to_string()));
        break;
    }
    report
}
