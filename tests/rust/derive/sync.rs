//! Pending work is waited for before a tensor is exported.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlpack_tests::foreign::{Farewell, ImportedStorage};
use tensors::{DLPackExport, DataRef, Error, SharedOwner, Storage, StreamArg, Synchronize};

/// Numbers the calls of several things.
#[derive(Clone, Debug, Default)]
struct Clock(Arc<AtomicUsize>);

impl Clock {
    fn tick(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

struct Event {
    clock: Clock,
    ready: bool,
}

impl Synchronize for Event {
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        assert_eq!(self.clock.tick(), 0, "the event comes first");
        if self.ready { consumer.host() } else { Err(Error::Custom("the event is broken")) }
    }
}

struct Buffer {
    clock: Clock,
    elements: Arc<[u8]>,
}

impl Storage for Buffer {
    fn data(&self) -> DataRef<'_> {
        assert_eq!(self.clock.tick(), 1, "the memory comes last");
        self.elements.data()
    }

    fn share(&self) -> Option<SharedOwner> {
        self.elements.share()
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Filled<E> {
    data: Buffer,
    shape: [usize; 1],
    #[dlpack(sync)]
    event: E,
}

fn filled(ready: bool) -> (Filled<Option<Event>>, Clock) {
    let clock = Clock::default();
    let data = Buffer { clock: clock.clone(), elements: Arc::new([4, 5]) };
    (Filled { data, shape: [2], event: Some(Event { clock: clock.clone(), ready }) }, clock)
}

#[test]
fn sync_is_called_before_the_memory_is_read() {
    let (tensor, clock) = filled(true);
    let foreign = ImportedStorage::from(tensor.into_dlpack().unwrap());
    assert_eq!(clock.tick(), 2);
    assert_eq!(foreign.elements::<u8>(), [4, 5]);
    foreign.delete(Farewell::Plain);

    let (tensor, clock) = filled(true);
    assert!(tensor.to_dlpack().is_ok());
    assert_eq!(clock.tick(), 2);
}

#[test]
fn a_failed_sync_refuses_the_export() {
    let (tensor, clock) = filled(false);
    assert_eq!(tensor.into_dlpack().unwrap_err(), Error::Custom("the event is broken"));
    assert_eq!(clock.tick(), 1);
}

#[test]
fn without_pending_work_sync_does_nothing() {
    let (tensor, clock) = filled(true);
    clock.tick();
    assert!(Filled { event: None::<Event>, ..tensor }.into_dlpack().is_ok());
}
