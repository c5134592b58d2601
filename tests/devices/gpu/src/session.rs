//! One test at a time on the GPU, whose state is restored: [`Session`].

use core::time::Duration;
use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use dlpack_traits::backend::{Cuda, DeviceBuffer, StreamHandle, WorkStream};
use dlpack_traits::{DataType, Device, StreamArg};
use libloading::Library;

use crate::driver::{Functions, cuda};
use crate::gate::Gate;
use crate::simulator::{Counts, Simulator};

/// Lets one test at a time go on, of either vendor: the simulator is one.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver for the time of a test. When it is dropped, the simulator must
/// hold as much as before.
#[derive(Debug)]
pub struct Session {
    /// The driver's functions.
    pub driver: &'static Functions,
    /// The simulator's controls; `None` on a GPU.
    pub simulator: Option<Simulator>,
    context: usize,
    before: Cell<Option<Counts>>,
    _alone: MutexGuard<'static, ()>,
}

/// Returns the driver with the context of device 0 current for this thread; `None`, with
/// a message, where there is neither a GPU nor a simulator.
pub fn session() -> Option<Session> {
    let alone = alone();
    let Some((library, driver)) = cuda() else {
        return skipped("cuda", "the loader finds no libcuda.so.1");
    };
    let simulator = Simulator::of(library);
    // SAFETY: the documented argument.
    let started = unsafe { (driver.init)(0) };
    if started != 0 {
        return skipped("cuda", &format!("cuInit answers {started}"));
    }
    // The backend keeps the context of a GPU from its first use on.
    WorkStream::<Cuda>::current(Device::cuda(0))
        .and_then(|stream| stream.synchronize())
        .expect("the backend's context");
    let mut context = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (driver.context_retain)(&raw mut context, device(driver, 0)) });
    // SAFETY: it was just retained.
    check(unsafe { (driver.context_set)(context) });
    let before = Cell::new(None);
    let session = Session { driver, simulator, context, before, _alone: alone };
    if let Some(simulator) = simulator {
        static FIRST: Once = Once::new();
        FIRST.call_once(|| session.free_during_work());
        let counts = simulator.counts();
        // The session releases its own reference at its end.
        session.before.set(Some(Counts { contexts: counts.contexts - 1, ..counts }));
    }
    Some(session)
}

/// The `CUdevice` of an ordinal.
pub fn device(driver: &Functions, ordinal: i32) -> i32 {
    let mut device = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (driver.device_get)(&raw mut device, ordinal) });
    device
}

/// Says aloud that a test did not run, and why.
pub fn skipped<T>(what: &str, reason: &str) -> Option<T> {
    let required = std::env::var("DLPACK_REQUIRE").unwrap_or_default();
    let needed = required.split(',').any(|name| name.trim() == what);
    assert!(!needed, "DLPACK_REQUIRE names {what}, but {reason}");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let line = format!("SKIPPED {test}: {reason}; `cargo xtask test` runs it on the simulator\n");
    // Not `println!`, which is shown for tests that fail only.
    drop(std::io::stderr().write_all(line.as_bytes()));
    None
}

/// A context that is not the backend's: the primary one of a second GPU, or another one of the
/// only GPU.
#[derive(Debug)]
pub struct OtherContext {
    driver: &'static Functions,
    context: usize,
    end: End,
}

/// `cuCtxCreate_v2`.
type Create = unsafe extern "C" fn(*mut usize, c_uint, c_int) -> c_int;

/// How such a context ends.
#[derive(Debug)]
enum End {
    /// It was retained.
    Release(i32),
    /// It was created.
    Destroy(unsafe extern "C" fn(usize) -> c_int),
}

impl OtherContext {
    fn of(driver: &'static Functions, library: &'static Library) -> Self {
        let mut context = 0;
        if Cuda::device_count().expect("a count") > 1 {
            let gpu = device(driver, 1);
            // SAFETY: a GPU that exists, and a place for the answer.
            check(unsafe { (driver.context_retain)(&raw mut context, gpu) });
            return Self { driver, context, end: End::Release(gpu) };
        }
        // SAFETY: the type is the one in CUDA's header.
        let create = *unsafe { library.get::<Create>(b"cuCtxCreate_v2\0") }.expect("a function");
        // SAFETY: the type is the one in CUDA's header.
        let destroy = *unsafe { library.get(b"cuCtxDestroy_v2\0") }.expect("a function");
        // SAFETY: a GPU that exists, and a place for the answer.
        check(unsafe { create(&raw mut context, 0, device(driver, 0)) });
        Self { driver, context, end: End::Destroy(destroy) }
    }

    /// The context.
    pub fn context(&self) -> usize {
        self.context
    }
}

impl Drop for OtherContext {
    fn drop(&mut self) {
        let code = match self.end {
            // SAFETY: it was retained once.
            End::Release(gpu) => unsafe { (self.driver.context_release)(gpu) },
            // SAFETY: it was created, and the test has ended its work.
            End::Destroy(destroy) => unsafe { destroy(self.context) },
        };
        assert_eq!(code, 0, "the context ends");
    }
}

/// Asserts that a call succeeded.
#[track_caller]
pub fn check(code: i32) {
    assert_eq!(code, 0, "an error code of the driver");
}

impl Session {
    /// The context of device 0.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Frees a buffer that a consumer uses on a stream of its own. The first time, the backend
    /// creates a stream for such frees, which it keeps.
    pub fn free_during_work(&self) {
        let consumer = self.new_stream();
        let buffer = DeviceBuffer::<Cuda>::zeroed(Device::cuda(0), DataType::U8, 4);
        let buffer = buffer.expect("memory");
        // SAFETY: it is destroyed below.
        let named = unsafe { StreamArg::from_handle(consumer) };
        buffer.sync_for(named).expect("an order");
        let gate = self.hold(consumer);
        // A driver that cannot record all work makes the host wait for it.
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            gate.open();
        });
        drop(buffer);
        opener.join().expect("no panic");
        self.synchronize(consumer);
        self.destroy_stream(consumer);
    }

    /// A context that is not the backend's. The session's is current afterwards.
    pub fn other_context(&self) -> OtherContext {
        let (library, driver) = cuda().expect("a session has a driver");
        let other = OtherContext::of(driver, library);
        // SAFETY: the session keeps it alive.
        check(unsafe { (driver.context_set)(self.context) });
        other
    }

    /// The simulator's controls, for a test that needs them; on a GPU it is skipped aloud.
    pub fn only_simulated(&self) -> Option<Simulator> {
        self.simulator.or_else(|| skipped("the simulator", "no call of a driver can be controlled"))
    }

    /// The backend has used so many GPUs, and keeps their contexts.
    pub fn keep_contexts(&self, devices: i32) {
        let contexts = usize::try_from(devices).expect("a count");
        self.before.set(self.before.get().map(|before| Counts { contexts, ..before }));
    }

    /// A stream that takes no turns with the legacy default stream.
    pub fn new_stream(&self) -> usize {
        let mut stream = 0;
        // SAFETY: the answer has a place, and a context is current.
        check(unsafe { (self.driver.stream_create)(&raw mut stream, 1) });
        stream
    }

    /// Returns one of our streams as the backend's type. It must outlive the result.
    pub fn work_stream(&self, stream: usize) -> WorkStream<Cuda> {
        let handle = StreamHandle::from_number(stream);
        // SAFETY: tests destroy their streams at their ends.
        unsafe { WorkStream::borrow(Device::cuda(0), handle) }.expect("a stream")
    }

    /// Gives a stream back.
    pub fn destroy_stream(&self, stream: usize) {
        // SAFETY: tests call this once for a stream that they made.
        check(unsafe { (self.driver.stream_destroy)(stream) });
    }

    /// Memory of `count` numbers, each of them `value`.
    pub fn filled(&self, value: u32, count: usize) -> usize {
        let mut address = 0;
        // SAFETY: the answer has a place, and a context is current.
        check(unsafe { (self.driver.allocate)(&raw mut address, count * 4) });
        let values = vec![value; count];
        // SAFETY: as many bytes are there on both sides.
        check(unsafe { (self.driver.to_device)(address, values.as_ptr().cast(), count * 4) });
        address
    }

    /// Frees memory that [`filled`](Self::filled) made.
    pub fn free(&self, address: usize) {
        // SAFETY: tests call this once for memory that they made.
        check(unsafe { (self.driver.free)(address) });
    }

    /// Reads numbers on a stream, in its order, and waits for them.
    pub fn read_on(&self, stream: usize, address: usize, count: usize) -> Vec<u32> {
        let mut values = vec![0_u32; count];
        let to = values.as_mut_ptr().expose_provenance();
        // SAFETY: as many bytes are there on both sides, until the next line.
        check(unsafe { (self.driver.copy_in_order)(to, address, count * 4, stream) });
        self.synchronize(stream);
        values
    }

    /// Waits for all work in the session's context, that of destroyed streams included.
    pub fn synchronize_all(&self) {
        // SAFETY: no argument.
        check(unsafe { (self.driver.context_synchronize)() });
    }

    /// Waits for a stream.
    pub fn synchronize(&self, stream: usize) {
        // SAFETY: a stream of the test.
        check(unsafe { (self.driver.stream_synchronize)(stream) });
    }

    /// Fills memory with a number, in the order of a stream.
    pub fn fill_on(&self, stream: usize, address: usize, value: u32, count: usize) {
        // SAFETY: memory and stream of the test.
        check(unsafe { (self.driver.fill_in_order)(address, value, count, stream) });
    }

    /// Keeps a stream from going on until the gate is opened.
    pub fn hold(&self, stream: usize) -> Gate {
        let gate = Gate::closed();
        // SAFETY: the argument is for this one call.
        check(unsafe { (self.driver.launch_host)(stream, Some(Gate::pass), gate.argument()) });
        gate
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: no argument.
        let synchronized = unsafe { (self.driver.context_synchronize)() };
        // SAFETY: retained once by `session`.
        let released = unsafe { (self.driver.context_release)(device(self.driver, 0)) };
        let failed = self.simulator.map_or(0, Simulator::clear_error);
        if std::thread::panicking() {
            return;
        }
        assert_eq!((synchronized, released, failed), (0, 0, 0), "what the GPU says at the end");
        if let (Some(simulator), Some(before)) = (self.simulator, self.before.get()) {
            assert_eq!(simulator.counts(), before, "something leaked");
        }
    }
}
