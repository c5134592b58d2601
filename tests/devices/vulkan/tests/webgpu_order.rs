//! The order of WebGPU's queue: current values with `sync_for`, and stale ones without.
//!
//! `examples/delayed_queue.rs` is loaded instead of wgpu-native, so that a test can delay the
//! queue, and read the memory without it, as another queue of a GPU would.

#![cfg(target_os = "linux")]
#![expect(clippy::std_instead_of_core, reason = "tests for machines that have std")]

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use dlpack_traits::backend::testing::{self, Gate, Hooks};
use dlpack_traits::backend::{Backend, DeviceBuffer, MemoryRef, WebGpu, WorkStream};
use dlpack_traits::{DataType, Device, Error, StreamArg};
use dlpack_vulkan_tests::webgpu::{raw_device, skipped};
use libloading::Library;

const COUNT: usize = 1024;
const BEFORE: u32 = 1;
const AFTER: u32 = 2;

/// A device whose queue can be delayed.
struct Queues {
    device: Device,
    open: unsafe extern "C" fn(bool),
    bypass: unsafe extern "C" fn(bool),
    pending: unsafe extern "C" fn() -> usize,
    busy: unsafe extern "C" fn(bool),
    _alone: MutexGuard<'static, ()>,
}

fn queues() -> Option<Queues> {
    static ALONE: Mutex<()> = Mutex::new(());
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = std::env::var_os("DLPACK_WGPU_NATIVE") else {
        skipped();
        return None;
    };
    let device = *DEVICE.get_or_init(|| {
        let device = raw_device(&path);
        // SAFETY: 1. and 2. By the line above: calls are passed on to that library.
        unsafe { WebGpu::adopt(delayed_library(), device) }.expect("wgpu-native")
    });
    // SAFETY: it was loaded by the line above.
    let library = unsafe { Library::new(delayed_library()) }.expect("the library");
    // SAFETY: its type in `delayed_queue.rs`.
    let open = *unsafe { library.get(b"queue_open") }.expect("a function");
    // SAFETY: as above.
    let bypass = *unsafe { library.get(b"queue_bypass") }.expect("a function");
    // SAFETY: as above.
    let pending = *unsafe { library.get(b"queue_pending") }.expect("a function");
    // SAFETY: as above.
    let busy = *unsafe { library.get(b"queue_busy") }.expect("a function");
    std::mem::forget(library);
    Some(Queues { device, open, bypass, pending, busy, _alone: alone })
}

/// The example of this package, which cargo builds where all its tests are run.
fn delayed_library() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let target = program.parent().and_then(|folder| folder.parent()).expect("its folder");
    let library = target.join("examples/libdelayed_queue.so");
    assert!(library.exists(), "first: cargo build --package=dlpack-vulkan-tests --examples");
    library
}

fn place(buffer: &DeviceBuffer<WebGpu>) -> MemoryRef {
    MemoryRef { device: buffer.device(), data: buffer.as_ptr(), byte_offset: 0 }
}

/// Enqueues a copy of the new value.
fn fill(buffer: &DeviceBuffer<WebGpu>) -> Result<(), Error> {
    let after = [AFTER; COUNT];
    let from =
        MemoryRef { device: Device::CPU, data: after.as_ptr().cast_mut().cast(), byte_offset: 0 };
    // SAFETY: 1. Both have as many bytes, and the host's are taken at once.
    unsafe { WebGpu::copy(buffer.stream(), from, place(buffer), size_of_val(&after)) }
}

impl Queues {
    fn set_open(&self, open: bool) {
        // SAFETY: any value will do.
        unsafe { (self.open)(open) }
    }

    fn pending(&self) -> usize {
        // SAFETY: no argument.
        unsafe { (self.pending)() }
    }

    /// Memory on a delayed queue, which is about to be filled.
    fn pending_buffer(&self) -> Result<DeviceBuffer<WebGpu>, Error> {
        let buffer = DeviceBuffer::<WebGpu>::from_slice(self.device, &[BEFORE; COUNT])?;
        // Written when it was submitted.
        assert_eq!(buffer.to_vec::<u32>()?, [BEFORE; COUNT]);
        self.set_open(false);
        fill(&buffer)?;
        assert_ne!(self.pending(), 0);
        Ok(buffer)
    }

    /// Returns the memory as a reader outside of the queue reads it.
    fn seen_elsewhere(&self, buffer: &DeviceBuffer<WebGpu>) -> Result<Vec<u32>, Error> {
        // SAFETY: any value will do.
        unsafe { (self.bypass)(true) };
        let seen = buffer.to_vec();
        // SAFETY: as above.
        unsafe { (self.bypass)(false) };
        seen
    }

    /// Opens the gate some time later.
    fn open_later(&self) -> thread::JoinHandle<()> {
        let open = self.open;
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            // SAFETY: any value will do.
            unsafe { open(true) }
        })
    }
}

impl Drop for Queues {
    /// A failing test must not leave a blocked queue behind.
    fn drop(&mut self) {
        self.set_open(true);
    }
}

/// The consumer is on the queue: the host does not wait, and the consumer's work is later
/// in the queue.
#[test]
fn a_named_queue_is_ordered_without_a_host_wait() -> Result<(), Error> {
    let Some(queues) = queues() else { return Ok(()) };
    let buffer = queues.pending_buffer()?;
    let stream = WorkStream::<WebGpu>::current(queues.device)?;
    for consumer in [stream.as_arg(), StreamArg::work_stream(), StreamArg::no_sync()] {
        assert_eq!(buffer.sync_for(consumer), Ok(()));
        assert_ne!(queues.pending(), 0, "the host did not wait");
    }
    let opener = queues.open_later();
    assert_eq!(buffer.to_vec::<u32>()?, [AFTER; COUNT]);
    opener.join().expect("no panic");
    Ok(())
}

/// No queue is named: when `sync_for` returns, the work has finished.
#[test]
fn a_consumer_without_a_queue_gets_finished_work() -> Result<(), Error> {
    let Some(queues) = queues() else { return Ok(()) };
    for consumer in [StreamArg::unspecified(), StreamArg::on_host()] {
        let buffer = queues.pending_buffer()?;
        let opener = queues.open_later();
        assert_eq!(buffer.sync_for(consumer), Ok(()));
        assert_eq!(queues.pending(), 0, "{consumer:?}");
        opener.join().expect("no panic");
        assert_eq!(queues.seen_elsewhere(&buffer)?, [AFTER; COUNT]);
    }
    Ok(())
}

/// Another thread, such as the program's renderer, submits work all the time, so that the
/// queue is not empty when a wait for earlier work ends. The wait has succeeded all the same.
#[test]
fn a_wait_succeeds_while_another_thread_submits() -> Result<(), Error> {
    let Some(queues) = queues() else { return Ok(()) };
    let busy = |busy| {
        // SAFETY: any value will do.
        unsafe { (queues.busy)(busy) }
    };
    let buffer = DeviceBuffer::<WebGpu>::from_slice(queues.device, &[BEFORE; COUNT])?;
    busy(true);
    let outcomes = (buffer.sync_for(StreamArg::unspecified()), buffer.to_vec::<u32>());
    busy(false);
    assert_eq!(outcomes, (Ok(()), Ok(vec![BEFORE; COUNT])));
    Ok(())
}

/// The mistake: a reader outside of the queue without synchronization.
#[test]
fn without_a_sync_for_the_value_is_stale() -> Result<(), Error> {
    let Some(queues) = queues() else { return Ok(()) };
    let buffer = queues.pending_buffer()?;
    assert_eq!(buffer.sync_for(StreamArg::no_sync()), Ok(()));
    assert_eq!(queues.seen_elsewhere(&buffer)?, [BEFORE; COUNT], "stale: the copy is delayed");
    queues.set_open(true);
    assert_eq!(buffer.to_vec::<u32>()?, [AFTER; COUNT]);
    Ok(())
}

/// The last owner is dropped while the copy to the memory is delayed.
#[test]
fn memory_is_kept_until_the_queue_has_finished() -> Result<(), Error> {
    let Some(queues) = queues() else { return Ok(()) };
    let buffer = queues.pending_buffer()?;
    let copy = DeviceBuffer::<WebGpu>::zeroed(queues.device, DataType::U32, COUNT)?;
    let (from, to) = (place(&buffer), place(&copy));
    // SAFETY: 1. Both have as many bytes.
    unsafe { WebGpu::copy(copy.stream(), from, to, COUNT * 4) }?;
    drop(buffer);
    queues.set_open(true);
    assert_eq!(copy.to_vec::<u32>()?, [AFTER; COUNT]);
    Ok(())
}

/// The one queue of the device, with its gate.
struct OfWebGpu(unsafe extern "C" fn(bool));

impl Hooks<WebGpu> for OfWebGpu {
    fn stream(&self, device: Device, index: usize) -> Result<WorkStream<WebGpu>, Error> {
        testing::NoGate.stream(device, index)
    }

    fn gate(&self, _: &WorkStream<WebGpu>) -> Result<Gate, Error> {
        let open = self.0;
        // SAFETY: any value will do.
        unsafe { open(false) };
        // SAFETY: as above.
        Ok(Box::new(move || unsafe { open(true) }))
    }
}

/// The checks that need one queue; the others need two.
#[test]
fn webgpu_keeps_its_obligations() {
    let Some(queues) = queues() else { return };
    let report = testing::conform::<WebGpu>(queues.device, OfWebGpu(queues.open));
    println!("{report}");
    assert!(report.is_pass(), "{report}");
    for check in ["wait of the host", "order of a stream", "free after the producer"] {
        assert!(report.passed.contains(&check), "{report}");
    }
}
