//! Two queues where a driver has one.
//!
//! lavapipe has a single queue without any overlap: there, work is in order with
//! `sync_for` and without. So two threads emulate queues. Each takes submissions
//! in order, waits on the host for their semaphores, and forwards them to the
//! driver's queue. The two are ordered by semaphores only, as two queues of a GPU
//! are.

use std::ffi::{CStr, c_void};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use ash::vk::{self, Handle};

use crate::watched::{real, submission, watch};

/// A submission of a queue.
enum Task {
    Submission(Submission),
    /// Answers when everything before was passed on.
    Flush(Sender<()>),
}

struct Submission {
    waits: Vec<(vk::Semaphore, u64)>,
    commands: Vec<vk::CommandBuffer>,
    signals: Vec<(vk::Semaphore, u64)>,
}

/// A thread that plays a queue. Its address is the queue's handle.
struct Player(Mutex<Sender<Task>>);

static PLAYERS: OnceLock<[&'static Player; 2]> = OnceLock::new();
/// The device, for functions without a device argument.
static DEVICE: OnceLock<ash::Device> = OnceLock::new();
/// The driver's queue, which one thread at a time may use.
static QUEUE: Mutex<Option<vk::Queue>> = Mutex::new(None);

/// The functions of a device, but for its queues: 0 and 1 of any family are
/// played, by means of the driver's queue 0.
pub fn split(instance: &ash::Instance, device: vk::Device, family: u32) -> ash::Device {
    // SAFETY: a device of the instance.
    let plain = unsafe { ash::Device::load(instance.fp_v1_0(), device) };
    watch(plain.fp_v1_0());
    // SAFETY: it was made with that queue.
    let queue = unsafe { plain.get_device_queue(family, 0) };
    *QUEUE.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
    assert!(DEVICE.set(plain).is_ok(), "one device");
    assert!(PLAYERS.set([player(), player()]).is_ok(), "one device");
    let load = |name: &CStr| {
        if let Some(ours) = function(name) {
            return ours;
        }
        // SAFETY: a name, and a device of the instance.
        let function = unsafe { instance.get_device_proc_addr(device, name.as_ptr()) };
        function.map_or(std::ptr::null(), |function| function as *const c_void)
    };
    // SAFETY: functions of that device, or ours of the same types.
    unsafe { ash::Device::load_with(load, device) }
}

fn function(name: &CStr) -> Option<*const c_void> {
    match name.to_str().ok()? {
        "vkGetDeviceQueue" => Some(get_device_queue as *const c_void),
        "vkQueueSubmit" => Some(queue_submit as *const c_void),
        "vkQueueWaitIdle" => Some(queue_wait_idle as *const c_void),
        _ => crate::watched::function(name),
    }
}

fn player() -> &'static Player {
    let (sender, receiver) = channel();
    thread::spawn(move || play(&receiver));
    Box::leak(Box::new(Player(Mutex::new(sender))))
}

impl Player {
    fn handle(&'static self) -> vk::Queue {
        vk::Queue::from_raw(std::ptr::from_ref(self).expose_provenance() as u64)
    }

    fn called(queue: vk::Queue) -> &'static Self {
        let players = PLAYERS.get().expect("two queues");
        players.iter().find(|player| player.handle() == queue).expect("one of them")
    }

    fn give(&self, task: Task) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.send(task).expect("a thread that lasts");
    }
}

fn play(tasks: &Receiver<Task>) {
    let device = DEVICE.get().expect("a device");
    for task in tasks {
        let submission = match task {
            Task::Submission(submission) => submission,
            Task::Flush(answer) => {
                let _ = answer.send(());
                continue;
            }
        };
        let (semaphores, values): (Vec<_>, Vec<_>) = submission.waits.iter().copied().unzip();
        if !semaphores.is_empty() {
            let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
            // SAFETY: semaphores of the device.
            unsafe { device.wait_semaphores(&info, u64::MAX) }.expect("a wait");
        }
        let (signals, signalled): (Vec<_>, Vec<_>) = submission.signals.iter().copied().unzip();
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; semaphores.len()];
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&signalled);
        let info = vk::SubmitInfo::default()
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .command_buffers(&submission.commands)
            .signal_semaphores(&signals)
            .push_next(&mut timeline);
        let queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().copied().expect("a queue");
        // SAFETY: arguments of the program; the owner of the lock has the queue.
        unsafe { device.queue_submit(queue, &[info], vk::Fence::null()) }.expect("a submission");
    }
}

unsafe extern "system" fn get_device_queue(
    _: vk::Device,
    _: u32,
    index: u32,
    queue: *mut vk::Queue,
) {
    let players = PLAYERS.get().expect("two queues");
    // SAFETY: the answer has a place.
    unsafe { queue.write(players[usize::try_from(index).expect("0 or 1")].handle()) };
}

unsafe extern "system" fn queue_wait_idle(queue: vk::Queue) -> vk::Result {
    let (answer, passed_on) = channel();
    Player::called(queue).give(Task::Flush(answer));
    passed_on.recv().expect("an answer");
    let queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the owner of the lock has the queue.
    unsafe { (real().queue_wait_idle)(queue.expect("a queue")) }
}

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    assert_eq!(fence, vk::Fence::null(), "fences are not played");
    if let Some(failure) = submission() {
        return failure;
    }
    // SAFETY: the caller has as many.
    let infos = unsafe { list(infos, count) };
    for info in infos {
        let values = info.p_next.cast::<vk::TimelineSemaphoreSubmitInfo<'_>>();
        // SAFETY: every program of these tests chains that struct, and no other.
        let values = unsafe { values.as_ref() }.expect("values of timelines");
        assert!(values.s_type == vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO);
        // SAFETY: the caller has as many.
        let waits = unsafe { list(info.p_wait_semaphores, info.wait_semaphore_count) };
        // SAFETY: as above.
        let waited =
            unsafe { list(values.p_wait_semaphore_values, values.wait_semaphore_value_count) };
        // SAFETY: as above.
        let signals = unsafe { list(info.p_signal_semaphores, info.signal_semaphore_count) };
        // SAFETY: as above.
        let signalled =
            unsafe { list(values.p_signal_semaphore_values, values.signal_semaphore_value_count) };
        // SAFETY: as above.
        let commands = unsafe { list(info.p_command_buffers, info.command_buffer_count) };
        Player::called(queue).give(Task::Submission(Submission {
            waits: waits.iter().copied().zip(waited.iter().copied()).collect(),
            commands: commands.to_vec(),
            signals: signals.iter().copied().zip(signalled.iter().copied()).collect(),
        }));
    }
    vk::Result::SUCCESS
}

/// An array of C's.
///
/// # Safety
///
/// 1. There are as many.
unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: (1).
    unsafe { std::slice::from_raw_parts(first, usize::try_from(count).expect("a count")) }
}
