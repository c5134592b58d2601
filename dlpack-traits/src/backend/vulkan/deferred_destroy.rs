//! Memory of tensors, and objects that are destroyed once queues have finished
//! with them: [`Retired`].
//!
//! Vulkan has no free in the order of a queue. Released objects are stored with the points
//! of all queues that they wait for, also if a consumer named no queue, and a later
//! allocation, release or wait destroys them. No deleter waits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use ash::vk;

use super::queue::TimelinePoint;

/// A buffer with its own memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) memory: vk::DeviceMemory,
}

/// An object that is destroyed once queues have finished with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Garbage {
    Buffer(BoundBuffer),
    Commands(vk::CommandPool),
}

#[derive(Debug, Default)]
struct Contents {
    /// Memory of tensors, keyed by the handle of the buffer.
    blocks: BTreeMap<usize, BoundBuffer>,
    waiting: Vec<Waiting>,
}

/// An object, and the points that must be reached before it is destroyed.
type Waiting = (Garbage, Vec<TimelinePoint>);

/// Splits the list into objects whose points are all reached, and the others.
fn part(
    waiting: Vec<Waiting>,
    is_reached: impl Fn(TimelinePoint) -> bool,
) -> (Vec<Waiting>, Vec<Waiting>) {
    waiting.into_iter().partition(|(_, points)| points.iter().all(|point| is_reached(*point)))
}

/// The memory of tensors of a device, and its retired objects.
#[derive(Debug, Default)]
pub(super) struct Retired(Mutex<Contents>);

impl Retired {
    fn lists(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the memory behind a handle.
    pub(super) fn insert(&self, handle: usize, block: BoundBuffer) {
        self.lists().blocks.insert(handle, block);
    }

    /// Whether this backend allocated the memory behind a handle.
    pub(super) fn contains(&self, handle: usize) -> bool {
        self.lists().blocks.contains_key(&handle)
    }

    /// Removes the memory behind a handle from the record, and returns it.
    pub(super) fn remove(&self, handle: usize) -> Option<BoundBuffer> {
        self.lists().blocks.remove(&handle)
    }

    /// Destroys an object when all points are reached.
    pub(super) fn retire(&self, garbage: Garbage, after: Vec<TimelinePoint>) {
        self.lists().waiting.push((garbage, after));
    }

    /// Destroys the objects whose points are reached. `functions` are those of
    /// their device.
    pub(super) fn clear(&self, functions: &ash::Device) {
        let waiting = core::mem::take(&mut self.lists().waiting);
        // SAFETY: 1. All points in the list are of the device's queues.
        let (over, pending) = part(waiting, |point| unsafe { point.is_reached(functions) });
        self.lists().waiting.extend(pending);
        for (garbage, _) in over {
            // SAFETY: 1. It is of the device and was removed from the list, and
            // all work that names it is done.
            unsafe { garbage.destroy(functions) };
        }
    }
}

impl Garbage {
    /// # Safety
    ///
    /// 1. It is of the device, and is not used by anything else, now or later.
    pub(super) unsafe fn destroy(self, functions: &ash::Device) {
        match self {
            Self::Buffer(BoundBuffer { buffer, memory }) => {
                // SAFETY: by our caller's 1.
                unsafe { functions.destroy_buffer(buffer, None) };
                // SAFETY: by our caller's 1, and the buffer in it is destroyed.
                unsafe { functions.free_memory(memory, None) };
            }
            // SAFETY: by our caller's 1.
            Self::Commands(pool) => unsafe { functions.destroy_command_pool(pool, None) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single unreached point delays the destruction.
    #[test]
    fn all_points_are_to_be_reached() {
        let garbage = || Garbage::Commands(vk::CommandPool::null());
        let [early, late] = [1, 2].map(TimelinePoint::of_value);
        let waiting = [Vec::new(), Vec::from([early]), Vec::from([early, late])];
        let waiting: Vec<_> = waiting.into_iter().map(|points| (garbage(), points)).collect();
        let (over, pending) = part(waiting, |point| point.value() < 2);
        let counts = |waiting: &[Waiting]| -> Vec<_> {
            waiting.iter().map(|(_, points)| points.len()).collect()
        };
        assert_eq!((counts(&over), counts(&pending)), (Vec::from([0, 1]), Vec::from([2])));
    }
}
