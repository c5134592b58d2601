//! Elements behind a lock. A lock is not a storage: a guard cannot be held until a
//! consumer on another thread has finished. So the struct exports a clone of the
//! elements; or promises with `unsafe` that no one writes any more.

use std::sync::{Arc, PoisonError, RwLock};

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Flags, SharedBuffer};

use super::consumer::Expected;

/// A variable that other threads write to.
struct Variable {
    elements: Arc<RwLock<Vec<f32>>>,
    shape: Vec<usize>,
}

impl Variable {
    fn new(elements: &[f32]) -> Self {
        let shape = vec![elements.len()];
        Self { elements: Arc::new(RwLock::new(elements.to_vec())), shape }
    }

    fn set(&self, index: usize, element: f32) {
        self.elements.write().unwrap_or_else(PoisonError::into_inner)[index] = element;
    }
}

/// The elements as they were at one moment.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Snapshot {
    data: Vec<f32>,
    shape: Vec<usize>,
    _drop: Ticket,
}

impl Variable {
    fn snapshot(&self, drop: Ticket) -> Snapshot {
        let elements = self.elements.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot { data: elements.clone(), shape: self.shape.clone(), _drop: drop }
    }
}

#[test]
fn a_clone_behind_the_lock_is_exported() {
    let drops = Drops::new();
    let variable = Variable::new(&[1.0, 2.0]);
    let snapshot = variable.snapshot(drops.ticket());
    variable.set(0, 9.0);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[1.0_f32, 2.0] };
    expected.assert_moved(snapshot, &drops);
}

/// The elements of a variable without further writes.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Frozen {
    // SAFETY: the owner keeps the memory, which has that length, and no one writes to it.
    #[dlpack(unsafe(ptr, len(elements) = len))]
    first: *const f32,
    len: usize,
    #[dlpack(owner)]
    elements: Arc<RwLock<Vec<f32>>>,
    shape: Vec<usize>,
    _drop: Ticket,
}

// SAFETY: the pointer points into memory that `elements` keeps alive, and that any thread
// may read.
unsafe impl Send for Frozen {}

impl Frozen {
    /// # Safety
    ///
    /// 1. The lock of the variable is not taken for writing again.
    unsafe fn new(variable: &Variable, drop: Ticket) -> Self {
        let elements = Arc::clone(&variable.elements);
        let (first, len) = {
            let elements = elements.read().unwrap_or_else(PoisonError::into_inner);
            (elements.as_ptr(), elements.len())
        };
        Self { first, len, elements, shape: variable.shape.clone(), _drop: drop }
    }
}

#[test]
fn a_frozen_variable_is_exported_read_only() {
    let drops = Drops::new();
    let variable = Variable::new(&[1.0, 2.0]);
    variable.set(1, 3.0);
    // SAFETY: this is the last that is done to the variable.
    let frozen = unsafe { Frozen::new(&variable, drops.ticket()) };
    assert_eq!(Arc::strong_count(&frozen.elements), 2);
    drop(variable);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::READ_ONLY, elements: &[1.0_f32, 3.0] };
    expected.assert_moved(frozen, &drops);
}

/// Where consumers and the program are to see each other's writes, there is a
/// buffer for that, without a lock.
#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Live {
    data: SharedBuffer<f32>,
    shape: Vec<usize>,
    _drop: Ticket,
}

#[test]
fn a_live_variable_is_exported_with_its_current_value() {
    let drops = Drops::new();
    let data = SharedBuffer::from_slice(&[1.0, 2.0]).unwrap();
    let live = Live { data: data.clone(), shape: vec![2], _drop: drops.ticket() };
    data.store(0, 9.0);
    let expected =
        Expected { shape: &[2], strides: &[1], flags: Flags::NONE, elements: &[9.0_f32, 2.0] };
    expected.assert_shared(&live);
    expected.assert_moved(live, &drops);
}
