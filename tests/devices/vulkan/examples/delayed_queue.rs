//! wgpu-native, with a queue that a test can delay.
//!
//! A driver that runs on the processor does copies within the call that submits them,
//! so that no work is ever pending. This library is loaded instead of wgpu-native, and
//! replaces its queue: a thread takes the submissions, in order, and forwards them
//! to the real one (`DLPACK_WGPU_NATIVE`) while a gate is open. All other calls are
//! forwarded at once, and so are those of a thread that bypasses the queue: they
//! have no order with the rest, as those of another queue of a GPU.

#![expect(clippy::std_instead_of_core, reason = "a library for machines that have std")]

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use libloading::Library;

type Handle = *mut c_void;
type Answered = unsafe extern "C" fn(u32, StringView, *mut c_void, *mut c_void);

#[repr(C)]
struct StringView(*const c_char, usize);

/// A request with a callback, whose type does not matter here.
#[repr(C)]
struct CallbackInfo {
    next: *const c_void,
    mode: u32,
    callback: Answered,
    first: *mut c_void,
    second: *mut c_void,
}

#[repr(C)]
struct Future(u64);

/// A function of wgpu-native.
///
/// # Safety
///
/// 1. `F` is its type in `webgpu.h`.
unsafe fn real<F: Copy>(name: &str) -> F {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let path = std::env::var_os("DLPACK_WGPU_NATIVE").expect("the path of wgpu-native");
        // SAFETY: the test has loaded it already.
        unsafe { Library::new(path) }.expect("wgpu-native")
    });
    // SAFETY: by 1.
    *unsafe { library.get::<F>(name.as_bytes()) }.expect("a function of wgpu-native")
}

/// Functions that are forwarded at once.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $answer:ty)?;)+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $answer)? {
            type Real = unsafe extern "C" fn($($type),*) $(-> $answer)?;
            // SAFETY: 1. This is its type.
            let function = unsafe { real::<Real>(stringify!($name)) };
            // SAFETY: the caller's arguments.
            unsafe { function($($argument),*) }
        }
    )+};
}

forward! {
    wgpuDeviceAddRef(device: Handle);
    wgpuDeviceGetQueue(device: Handle) -> Handle;
    wgpuDevicePushErrorScope(device: Handle, filter: u32);
    wgpuDevicePopErrorScope(device: Handle, info: CallbackInfo) -> Future;
    wgpuDeviceCreateBuffer(device: Handle, descriptor: *const c_void) -> Handle;
    wgpuBufferRelease(buffer: Handle);
    wgpuBufferGetSize(buffer: Handle) -> u64;
    wgpuBufferGetConstMappedRange(buffer: Handle, offset: usize, size: usize) -> *const c_void;
    wgpuDeviceCreateCommandEncoder(device: Handle, descriptor: *const c_void) -> Handle;
    wgpuCommandEncoderCopyBufferToBuffer(
        encoder: Handle, from: Handle, from_offset: u64, to: Handle, to_offset: u64, size: u64
    );
    wgpuCommandEncoderFinish(encoder: Handle, descriptor: *const c_void) -> Handle;
    wgpuCommandEncoderRelease(encoder: Handle);
    wgpuCommandBufferRelease(commands: Handle);
}

/// A call that waits in the queue.
type Task = Box<dyn FnOnce() + Send>;

/// The calls in the queue, and whether the gate is open.
struct Queue {
    tasks: Vec<Task>,
    open: bool,
    /// The number of calls, with the one that is being forwarded.
    pending: usize,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { tasks: Vec::new(), open: true, pending: 0 });
/// Whether the queue is never empty when a wait ends.
static BUSY: AtomicBool = AtomicBool::new(false);
static CHANGED: Condvar = Condvar::new();

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the queue fulfills a condition.
fn wait_until(condition: impl Fn(&Queue) -> bool) -> MutexGuard<'static, Queue> {
    CHANGED.wait_while(queue(), |queue| !condition(queue)).unwrap_or_else(PoisonError::into_inner)
}

/// Forwards the calls in the queue, in order, while the gate is open.
fn run() {
    loop {
        let mut queue = wait_until(|queue| queue.open && !queue.tasks.is_empty());
        let task = queue.tasks.remove(0);
        drop(queue);
        task();
        self::queue().pending -= 1;
        CHANGED.notify_all();
    }
}

thread_local! {
    /// Whether this thread bypasses the queue.
    static BYPASS: Cell<bool> = const { Cell::new(false) };
}

fn enqueue(task: Task) {
    static THREAD: OnceLock<thread::JoinHandle<()>> = OnceLock::new();
    if BYPASS.get() {
        return task();
    }
    THREAD.get_or_init(|| thread::spawn(run));
    let mut queue = self::queue();
    queue.tasks.push(task);
    queue.pending += 1;
    CHANGED.notify_all();
}

/// Arguments of a call that another thread forwards.
struct SendArguments<T>(T);

// SAFETY: objects of wgpu-native may be used by any thread; the arguments of callbacks
// belong to them.
unsafe impl<T> Send for SendArguments<T> {}

impl<T> SendArguments<T> {
    fn take(self) -> T {
        self.0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wgpuQueueSubmit(queue: Handle, count: usize, commands: *const Handle) {
    type Submit = unsafe extern "C" fn(Handle, usize, *const Handle);
    type Count = unsafe extern "C" fn(Handle);
    // SAFETY: the caller passes `count` command buffers.
    let commands = unsafe { std::slice::from_raw_parts(commands, count) }.to_vec();
    for each in &commands {
        // SAFETY: 1. Its type.
        let add_ref = unsafe { real::<Count>("wgpuCommandBufferAddRef") };
        // SAFETY: the caller keeps it alive.
        unsafe { add_ref(*each) };
    }
    let arguments = SendArguments((queue, commands));
    enqueue(Box::new(move || {
        let (queue, commands) = arguments.take();
        // SAFETY: 1. Its type.
        let submit = unsafe { real::<Submit>("wgpuQueueSubmit") };
        // SAFETY: the queue stays with its device, and commands have a reference.
        unsafe { submit(queue, commands.len(), commands.as_ptr()) };
        for each in commands {
            // SAFETY: 1. Its type.
            let release = unsafe { real::<Count>("wgpuCommandBufferRelease") };
            // SAFETY: the reference of above.
            unsafe { release(each) };
        }
    }));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wgpuQueueWriteBuffer(
    queue: Handle,
    buffer: Handle,
    offset: u64,
    data: *const c_void,
    size: usize,
) {
    type Write = unsafe extern "C" fn(Handle, Handle, u64, *const c_void, usize);
    type Count = unsafe extern "C" fn(Handle);
    // SAFETY: 1. Its type.
    let add_ref = unsafe { real::<Count>("wgpuBufferAddRef") };
    // SAFETY: the caller keeps it alive.
    unsafe { add_ref(buffer) };
    // SAFETY: the caller passes `size` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec();
    let arguments = SendArguments((queue, buffer));
    enqueue(Box::new(move || {
        let (queue, buffer) = arguments.take();
        // SAFETY: 1. Its type.
        let write = unsafe { real::<Write>("wgpuQueueWriteBuffer") };
        // SAFETY: the buffer has a reference, and we own the bytes.
        unsafe { write(queue, buffer, offset, bytes.as_ptr().cast(), bytes.len()) };
        // SAFETY: 1. Its type.
        let release = unsafe { real::<Count>("wgpuBufferRelease") };
        // SAFETY: the reference of above.
        unsafe { release(buffer) };
    }));
}

/// A buffer can be mapped after the work that was submitted before.
#[unsafe(no_mangle)]
unsafe extern "C" fn wgpuBufferMapAsync(
    buffer: Handle,
    mode: u64,
    offset: usize,
    size: usize,
    info: CallbackInfo,
) -> Future {
    type Map = unsafe extern "C" fn(Handle, u64, usize, usize, CallbackInfo) -> Future;
    let arguments = SendArguments((buffer, info));
    enqueue(Box::new(move || {
        let (buffer, info) = arguments.take();
        // SAFETY: 1. Its type.
        let map = unsafe { real::<Map>("wgpuBufferMapAsync") };
        // SAFETY: the caller that maps a buffer waits for it.
        unsafe { map(buffer, mode, offset, size, info) };
    }));
    Future(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wgpuDevicePoll(device: Handle, wait: u32, index: *const u64) -> u32 {
    type Poll = unsafe extern "C" fn(Handle, u32, *const u64) -> u32;
    if wait != 0 && !BYPASS.get() {
        drop(wait_until(|queue| queue.pending == 0));
    }
    // SAFETY: 1. Its type.
    let poll = unsafe { real::<Poll>("wgpuDevicePoll") };
    // SAFETY: the caller's arguments.
    let empty = unsafe { poll(device, wait, index) };
    if BUSY.load(Ordering::Relaxed) || !(BYPASS.get() || queue().pending == 0) { 0 } else { empty }
}

/// Opens or closes the gate.
#[unsafe(no_mangle)]
extern "C" fn queue_open(open: bool) {
    queue().open = open;
    CHANGED.notify_all();
}

/// Sets whether this thread bypasses the queue from now on.
#[unsafe(no_mangle)]
extern "C" fn queue_bypass(bypass: bool) {
    BYPASS.set(bypass);
}

/// Sets whether [`wgpuDevicePoll`] reports that other work was submitted during the wait.
#[unsafe(no_mangle)]
extern "C" fn queue_busy(busy: bool) {
    BUSY.store(busy, Ordering::Relaxed);
}

/// Returns the number of calls in the queue.
#[unsafe(no_mangle)]
extern "C" fn queue_pending() -> usize {
    queue().pending
}
