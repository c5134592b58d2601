//! The conformance kit: it passes correct backends, and names the obligation that a faulty one
//! breaks. The faulty ones are one device with a planted fault.
#![cfg(not(miri))] // Faults that block are found after a second of real time; the example's run there.

mod conform {
    pub(crate) mod pretend;
}

use core::time::Duration;
use std::sync::{PoisonError, RwLock};

use conform::pretend::{Fault, Pretend, device, hold};
use new_device::runtime;
use tensors::backend::testing::{Gate, Hooks, NoGate, Report, conform};
use tensors::backend::{Backend, Cpu, MemoryType, WorkStream};
use tensors::ffi::kDLExtDev;
use tensors::{Device, Error};

/// Ends the threads of the device when a test ends, because Miri requires it.
struct Session;

impl Drop for Session {
    fn drop(&mut self) {
        if cfg!(miri) {
            runtime::shutdown();
        }
    }
}

#[test]
fn host_memory_passes() {
    let report = conform::<Cpu>(Device::CPU, NoGate);
    assert!(report.is_pass(), "{report}");
    for check in ["allocations", "zeroed memory", "bytes of a copy", "foreign threads"] {
        assert!(report.passed.contains(&check), "{report}");
    }
    let not_run = report.not_run.iter().find(|check| check.0 == "events");
    assert!(not_run.is_some_and(|check| check.1.contains("second stream")), "{report}");
}

/// The hooks of the pretend device, which have everything.
struct All {
    patience: Duration,
}

impl Hooks<Pretend> for All {
    fn stream(&self, device: Device, _: usize) -> Result<WorkStream<Pretend>, Error> {
        Pretend::new_stream(device)
    }

    fn gate(&self, stream: &WorkStream<Pretend>) -> Result<Gate, Error> {
        Ok(hold(stream.stream().inner()))
    }

    fn capture(&self, stream: &WorkStream<Pretend>) -> Result<Gate, Error> {
        Ok(stream.stream().capture())
    }

    fn fail(&self, stream: &WorkStream<Pretend>) -> Result<(), Error> {
        stream.stream().fail();
        Ok(())
    }

    fn shutdown(&self, device: Device) -> Result<(), Error> {
        Pretend::shutdown(device);
        Ok(())
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// Two faults are those of a device that does not exist, which all others share.
static MISSING: RwLock<()> = RwLock::new(());

fn report(fault: Fault, patience: Duration) -> Report {
    let alone = matches!(fault, Fault::AnyDevice | Fault::Panics);
    let _alone = alone.then(|| MISSING.write().unwrap_or_else(PoisonError::into_inner));
    let _others = (!alone).then(|| MISSING.read().unwrap_or_else(PoisonError::into_inner));
    let report = conform::<Pretend>(device(fault), All { patience });
    Pretend::forget(device(fault));
    report
}

#[test]
fn the_pretend_device_without_a_fault_passes() {
    let _session = Session;
    let report = report(Fault::None, Duration::from_secs(60));
    assert!(report.is_pass(), "{report}");
    assert_eq!(report.not_run, [], "{report}");
    assert_eq!(Pretend::MEMORY_TYPES, [MemoryType::with_handles(kDLExtDev)]);
}

/// One of the findings names the obligation and what is wrong.
#[track_caller]
fn named(fault: Fault, obligation: &str, text: &str) {
    let report = report(fault, Duration::from_secs(1));
    let found = report
        .findings
        .iter()
        .any(|finding| finding.obligation.contains(obligation) && finding.text.contains(text));
    assert!(found, "{fault:?} is not named ({obligation}, {text}):\n{report}");
    let printed = report.to_string();
    assert!(printed.contains("FAILED") && printed.contains(obligation), "{printed}");
}

macro_rules! planted {
    ($($test:ident: $fault:ident => $obligation:literal, $text:literal;)+) => {$(
        #[test]
        #[cfg_attr(miri, ignore = "the device's threads wait for ever, or for long")]
        fn $test() {
            named(Fault::$fault, $obligation, $text);
        }
    )+};
}

planted! {
    synchronize_that_does_nothing: NoSynchronize => "`Stream` 5", "returned while the stream was held";
    record_that_marks_nothing: NoRecord => "`Stream` 2 and 3", "ran before the work that `record`";
    wait_that_does_nothing: NoWait => "`Stream` 2 and 3", "ran before the work that `record`";
    record_that_waits_on_the_host: RecordBlocks => "`Stream` 4", "`record` waited for the gate";
    wait_that_waits_on_the_host: WaitBlocks => "`Stream` 4", "`wait` waited for the gate";
    wait_that_never_ends: WaitHangs => "`Stream` 2 and 3", "did not return";
    streams_that_are_all_the_same: AllSame => "`Stream` 9", "`Some(true)` for two streams";
    clones_that_are_other_streams: CloneOutOfOrder => "`Stream` 1, 7", "before earlier work";
    early_free: FreesEarly => "`deallocate`, promise 1", "before the work of its stream";
    zeros_on_another_stream: ZerosElsewhere => "`allocate`, promise 2", "not zero in the order";
    no_zeros: NoZeros => "`allocate`, promise 2", "not zero";
    allocations_that_overlap: SharesMemory => "`allocate`, promise 1", "share memory";
    part_of_a_pool_that_is_not_aligned: Misaligned => "`allocate`, promise 1", "not aligned";
    offset_that_is_ignored: NoOffset => "`copy`, promise 1", "elements 2..5 were copied";
    device_wait_that_does_nothing: NoDeviceWait => "`Backend` 4", "before the work of a stream";
    device_wait_without_closed_streams: OmitsClosed => "`Backend` 4", "before the work of a closed";
    handle_of_another_stream: WrongHandle => "`WorkStream::new` 1", "names another stream";
    borrowed_stream_of_another: BorrowsAnother => "`Backend` 1 and 2", "is not the consumer's";
    borrowed_stream_that_does_not_last: BorrowDies => "`Backend` 3", "before the work of a consumer";
    attributes_of_another_device: WrongAttributes => "`attributes`, promise 1", "is reported as";
    handle_that_the_processor_reads: HandleIsRead => "`attributes`, promise 1", "behind a handle";
    host_memory_as_device_memory: HostIsDevice => "`attributes`, promise 1", "memory of the host";
    stream_of_another_device: OtherDevice => "`Backend` 1", "is on ext_dev";
    stream_of_a_missing_device: AnyDevice => "`Backend` 1", "which does not exist";
    panic_for_a_missing_device: Panics => "`Backend` 1", "panicked";
    calls_of_one_thread: OneThread => "`Stream` 6", "a call on another thread failed";
    capture_that_is_not_reported: HidesCapture => "`Stream` 8", "`Ok(false)` while work";
    failure_that_is_not_reported: HidesFailure => "`Stream` 5", "although work had failed";
    shutdown_that_hangs: HangsAfterShutdown => "`Backend`, errors", "did not return";
}
