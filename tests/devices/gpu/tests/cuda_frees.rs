//! CUDA memory is freed after its last use, on whatever stream that is.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use dlpack_gpu_tests::gate::Gate;
use dlpack_gpu_tests::session::{Session, check, session};
use dlpack_traits::backend::{Cuda, DeviceBuffer};
use dlpack_traits::{DataType, Device, Error, StreamArg};

/// Set in the process whose driver lacks a function.
const OLDER: &str = "DLPACK_GPU_TEST_OLDER";
/// Longer than a free that does not wait takes.
const LONG: Duration = Duration::from_secs(2);

fn address(buffer: &DeviceBuffer<Cuda>) -> usize {
    buffer.as_ptr().addr()
}

/// A consumer that reads late, on a stream whose handle the producer may keep: the free
/// is ordered after it, and the host does not wait.
#[test]
fn a_free_comes_after_uses_on_named_streams() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let producer = session.new_stream();
    let stream = session.work_stream(producer);
    let buffer = DeviceBuffer::zeroed_on(stream, DataType::U32, 16)?;
    session.fill_on(producer, address(&buffer), 9, 16);
    let copy = session.filled(0, 16);
    // SAFETY: the legacy default stream is always there.
    buffer.sync_for(unsafe { StreamArg::from_handle(1) })?;
    let gate = session.hold(1);
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, address(&buffer), 64, 1) });
    drop(buffer);
    gate.open();
    assert_eq!(session.read_on(1, copy, 16), [9; 16]);
    session.free(copy);
    session.destroy_stream(producer);
    Ok(())
}

/// A buffer of nines, and a stream of a consumer whose handle may not last. The stream copies the
/// elements to `copy` when the gate is opened.
struct Used {
    buffer: DeviceBuffer<Cuda>,
    copy: usize,
    consumer: usize,
    gate: Gate,
}

fn used_on_a_held_stream(session: &Session) -> Result<Used, Error> {
    let consumer = session.new_stream();
    let buffer = DeviceBuffer::<Cuda>::from_slice(Device::cuda(0), &[9_u32; 16])?;
    let copy = session.filled(0, 16);
    // SAFETY: the tests destroy it when they have enqueued their work.
    buffer.sync_for(unsafe { StreamArg::from_handle(consumer) })?;
    let gate = session.hold(consumer);
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, address(&buffer), 64, consumer) });
    Ok(Used { buffer, copy, consumer, gate })
}

/// A consumer that reads late, on a stream whose handle may not last: the free comes after all
/// work of the context, and the host does not wait.
#[test]
fn a_free_comes_after_uses_on_other_streams() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    for destroyed in [false, true] {
        let Used { buffer, copy, consumer, gate } = used_on_a_held_stream(&session)?;
        if destroyed {
            session.destroy_stream(consumer);
        }
        let (open, asked) = mpsc::channel::<()>();
        let opener = thread::spawn(move || {
            let _asked = asked.recv_timeout(LONG);
            gate.open();
        });
        let begun = Instant::now();
        drop(buffer);
        assert!(begun.elapsed() < LONG, "the host waited");
        // A free that does not wait takes place now.
        thread::sleep(Duration::from_millis(20));
        // New memory of the same size, with other elements, is not the old memory.
        let others =
            [0; 4].map(|_| DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U32, 16));
        session.synchronize(1);
        drop(open);
        opener.join().expect("no panic");
        session.synchronize_all();
        assert_eq!(session.read_on(1, copy, 16), [9; 16], "destroyed: {destroyed}");
        drop(others);
        session.free(copy);
        if !destroyed {
            session.destroy_stream(consumer);
        }
        if let Some(simulator) = session.simulator {
            assert_eq!(simulator.counts().device_memory, 0);
        }
    }
    Ok(())
}

/// Without pending work the memory is freed in the order of the buffer's stream.
#[test]
fn a_free_after_finished_uses_on_other_streams_needs_no_other_stream() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let Some(simulator) = session.only_simulated() else { return Ok(()) };
    let consumer = session.new_stream();
    let buffer = DeviceBuffer::<Cuda>::from_slice(Device::cuda(0), &[9_u32; 16])?;
    // SAFETY: destroyed below.
    buffer.sync_for(unsafe { StreamArg::from_handle(consumer) })?;
    session.synchronize_all();
    let before = simulator.calls("cuStreamWaitEvent");
    drop(buffer);
    assert_eq!(simulator.calls("cuStreamWaitEvent"), before);
    assert_eq!(simulator.counts().device_memory, 0);
    session.destroy_stream(consumer);
    Ok(())
}

/// A buffer that a consumer uses on a stream is dropped while the stream is held back, and the
/// host waits for it. `prepare` is called before the drop.
fn assert_the_host_waits(session: &Session, prepare: impl FnOnce()) -> Result<(), Error> {
    let Used { buffer, copy, consumer, gate } = used_on_a_held_stream(session)?;
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    prepare();
    drop(buffer);
    // SAFETY: a stream of the test.
    assert_eq!(unsafe { (session.driver.stream_query)(consumer) }, 0);
    assert_eq!(session.read_on(consumer, copy, 16), [9; 16]);
    opener.join().expect("no panic");
    session.free(copy);
    session.destroy_stream(consumer);
    Ok(())
}

/// If the work of the context cannot be recorded, the host waits for it.
#[test]
fn a_free_waits_for_work_that_cannot_be_recorded() -> Result<(), Error> {
    let Some(session) = session() else { return Ok(()) };
    let Some(simulator) = session.only_simulated() else { return Ok(()) };
    for call in ["cuEventCreate", "cuCtxRecordEvent", "cuEventQuery", "cuCtxGetId"] {
        // 2 is `CUDA_ERROR_OUT_OF_MEMORY`.
        assert_the_host_waits(&session, || simulator.fail(Some(call), 0, 2))?;
        assert!(simulator.fail_none(), "{call} was not called");
    }
    Ok(())
}

/// Runs in a process with a driver that has no `cuCtxRecordEvent`.
#[test]
fn child_with_an_older_driver() -> Result<(), Error> {
    if std::env::var_os(OLDER).is_none() {
        return Ok(());
    }
    let Some(session) = session() else { return Ok(()) };
    let simulator = session.simulator.expect("the simulator");
    assert_the_host_waits(&session, || {})?;
    assert_eq!(simulator.calls("cuCtxRecordEvent"), 0);
    println!("the host waited");
    Ok(())
}

/// A driver before CUDA 12.5 lacks the function: all else works.
#[test]
fn an_older_driver_waits_for_uses_on_other_streams() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    drop(session);
    let maps = fs::read_to_string("/proc/self/maps").expect("the list of mappings");
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let simulator = paths.find(|path| path.contains("libgpu_simulator")).expect("the simulator");
    let mut library = fs::read(simulator).expect("the file");
    let name = b"\0cuCtxRecordEvent\0";
    let found: Vec<usize> = library
        .windows(name.len())
        .enumerate()
        .filter_map(|(at, bytes)| (bytes == name).then_some(at))
        .collect();
    assert!(!found.is_empty(), "the name of the function");
    for at in found {
        library[at + 1] = b'x';
    }
    let folder = std::env::temp_dir().join(format!("older-driver-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("libcuda.so.1"), library).expect("a file");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child_with_an_older_driver", "--nocapture"]);
    let output = command.env(OLDER, "1").env("LD_LIBRARY_PATH", &folder).output();
    let output = output.expect("a process");
    drop(fs::remove_dir_all(&folder));
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("the host waited"), "{output:?}");
}

/// The mistake that the tests above are about, made with the driver itself:
/// the simulator notices it.
#[test]
fn an_unordered_free_is_detected() {
    let Some(session) = session() else { return };
    let Some(simulator) = session.only_simulated() else { return };
    let (producer, consumer) = (session.new_stream(), session.new_stream());
    let mut data = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.allocate_in_order)(&raw mut data, 64, producer) });
    let copy = session.filled(0, 16);
    let gate = session.hold(consumer);
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, data, 64, consumer) });
    // SAFETY: a mistake, of which the simulator makes an error.
    check(unsafe { (session.driver.free_in_order)(data, producer) });
    session.synchronize(producer);
    gate.open();
    // SAFETY: a stream of the test.
    assert_eq!(unsafe { (session.driver.stream_synchronize)(consumer) }, 700);
    assert_eq!(simulator.clear_error(), 700);
    session.free(copy);
    session.destroy_stream(producer);
    session.destroy_stream(consumer);
}
