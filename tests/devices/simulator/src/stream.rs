//! A stream and its thread: [`Stream`].

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::fence::Fence;
use crate::state;
use crate::work::Work;

/// Which stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Which {
    /// The legacy default stream of a device: handles 0 and 1.
    Legacy(usize),
    /// The default stream of a device for one thread: handle 2.
    PerThread(usize, u64),
    /// One that a program made: any other handle.
    Made(usize),
}

/// Work, and the fences before it.
#[derive(Debug)]
struct Task {
    work: Work,
    after: Vec<Arc<Fence>>,
    done: Arc<Fence>,
}

/// A queue of work with a thread that does it.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its device.
    pub(crate) ordinal: usize,
    /// Whether it takes turns with the legacy default stream.
    pub(crate) blocking: bool,
    /// All work that was enqueued on it.
    pub(crate) tail: Arc<Fence>,
    /// The capture that records it, in place of it doing anything.
    pub(crate) capture: Option<usize>,
    queue: Sender<Task>,
}

impl Stream {
    /// Starts a stream of a device. Its thread ends when the stream has been dropped and
    /// its work has finished.
    pub(crate) fn start(ordinal: usize, blocking: bool) -> Self {
        let (queue, tasks) = mpsc::channel();
        thread::spawn(move || work_off(&tasks, ordinal));
        Self { ordinal, blocking, tail: Fence::passed(), capture: None, queue }
    }

    /// Enqueues work after the stream's earlier work and after `after`.
    pub(crate) fn push(&mut self, work: Work, after: Vec<Arc<Fence>>) -> Arc<Fence> {
        let done = Fence::pending();
        self.tail = Arc::clone(&done);
        // It fails only if the thread panicked: then no thread waits for this result.
        if let Err(unsent) = self.queue.send(Task { work, after, done }) {
            unsent.0.done.pass();
        }
        Arc::clone(&self.tail)
    }
}

fn work_off(tasks: &Receiver<Task>, ordinal: usize) {
    for task in tasks {
        for fence in &task.after {
            fence.wait();
        }
        // A failed device runs no work except frees.
        let failed = state::lock().devices[ordinal].failed.is_some();
        if !failed || matches!(task.work, Work::Free { .. }) {
            if let Err(status) = task.work.run(ordinal) {
                state::lock().devices[ordinal].failed.get_or_insert(status);
            }
        }
        task.done.pass();
    }
}
