//! Memory of tensors, and what waits until queues are done with it: [`Retired`].

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use ash::vk;

use super::queue::Point;

/// A buffer with memory of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) buffer: vk::Buffer,
    pub(super) memory: vk::DeviceMemory,
}

/// What is destroyed once queues have passed it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thing {
    Block(Block),
    Commands(vk::CommandPool),
}

#[derive(Debug, Default)]
struct Lists {
    /// Memory of tensors, by the handles of their buffers.
    blocks: BTreeMap<usize, Block>,
    waiting: Vec<Waiting>,
}

/// A thing, and the points that queues have to pass before it goes.
type Waiting = (Thing, Vec<Point>);

/// What is over, and what is pending yet.
fn part(waiting: Vec<Waiting>, is_reached: impl Fn(Point) -> bool) -> (Vec<Waiting>, Vec<Waiting>) {
    waiting.into_iter().partition(|(_, points)| points.iter().all(|point| is_reached(*point)))
}

/// What belongs to a device.
#[derive(Debug, Default)]
pub(super) struct Retired(Mutex<Lists>);

impl Retired {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the memory behind a handle.
    pub(super) fn insert(&self, handle: usize, block: Block) {
        self.lists().blocks.insert(handle, block);
    }

    /// Whether a handle is that of memory which was allocated here.
    pub(super) fn contains(&self, handle: usize) -> bool {
        self.lists().blocks.contains_key(&handle)
    }

    /// Gives the memory behind a handle up.
    pub(super) fn remove(&self, handle: usize) -> Option<Block> {
        self.lists().blocks.remove(&handle)
    }

    /// Destroys a thing when all points are reached.
    pub(super) fn retire(&self, thing: Thing, after: Vec<Point>) {
        self.lists().waiting.push((thing, after));
    }

    /// Destroys what queues have passed. The device is that of all of it.
    pub(super) fn clear(&self, functions: &ash::Device) {
        let waiting = core::mem::take(&mut self.lists().waiting);
        // SAFETY: 1. Points of things are of the device's queues.
        let (over, pending) = part(waiting, |point| unsafe { point.is_reached(functions) });
        self.lists().waiting.extend(pending);
        for (thing, _) in over {
            // SAFETY: 1. It is of the device, in no list any more, and all work
            // that names it is done.
            unsafe { thing.destroy(functions) };
        }
    }
}

impl Thing {
    /// # Safety
    ///
    /// 1. It is of the device, and nobody uses it, now or later.
    pub(super) unsafe fn destroy(self, functions: &ash::Device) {
        match self {
            Self::Block(Block { buffer, memory }) => {
                // SAFETY: by 1.
                unsafe { functions.destroy_buffer(buffer, None) };
                // SAFETY: by 1, and the buffer in it is gone.
                unsafe { functions.free_memory(memory, None) };
            }
            // SAFETY: by 1.
            Self::Commands(pool) => unsafe { functions.destroy_command_pool(pool, None) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One queue that is not so far keeps what several may use.
    #[test]
    fn all_points_are_to_be_reached() {
        let thing = || Thing::Commands(vk::CommandPool::null());
        let [early, late] = [1, 2].map(Point::of_value);
        let waiting = [Vec::new(), Vec::from([early]), Vec::from([early, late])];
        let waiting: Vec<_> = waiting.into_iter().map(|points| (thing(), points)).collect();
        let (over, pending) = part(waiting, |point| point.value() < 2);
        let counts = |waiting: &[Waiting]| -> Vec<_> {
            waiting.iter().map(|(_, points)| points.len()).collect()
        };
        assert_eq!((counts(&over), counts(&pending)), (Vec::from([0, 1]), Vec::from([2])));
    }
}
