//! Signed strides, an offset, and an event after which the elements are valid.

#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use dlpack_tests::counted::{Drops, Ticket};
use tensors::{DLPackExport, Element, Error, Flags, StreamArg, Synchronize};

use super::consumer::Expected;

/// Work that another thread does, or did not manage to do.
#[derive(Clone, Default)]
struct Event {
    waited: Arc<AtomicUsize>,
    failed: bool,
}

impl Synchronize for Event {
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        if self.failed {
            return Err(Error::Custom("the kernel failed"));
        }
        self.waited.fetch_add(1, Ordering::SeqCst);
        consumer.host()
    }
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors)]
struct Typed<T: Element> {
    data: Vec<T>,
    #[dlpack(shape)]
    dims: Vec<usize>,
    strides: Vec<isize>,
    #[dlpack(offset(elements))]
    offset: isize,
    #[dlpack(sync)]
    event: Option<Event>,
    _drop: Ticket,
}

/// Both axes backwards.
fn backwards(event: Option<Event>, drops: &Drops) -> Typed<u32> {
    Typed {
        data: vec![1, 2, 3, 4, 5, 6],
        dims: vec![2, 3],
        strides: vec![-3, -1],
        offset: 5,
        event,
        _drop: drops.ticket(),
    }
}

const EXPECTED: Expected<'_, u32> = Expected {
    shape: &[2, 3],
    strides: &[-3, -1],
    flags: Flags::NONE,
    elements: &[6, 5, 4, 3, 2, 1],
};

#[test]
fn the_event_is_waited_for_once_before_the_export() {
    let drops = Drops::new();
    let event = Event::default();
    EXPECTED.assert_moved(backwards(Some(event.clone()), &drops), &drops);
    assert_eq!(event.waited.load(Ordering::SeqCst), 1);
    EXPECTED.assert_moved(backwards(None, &drops), &drops);
}

#[test]
fn a_failed_event_is_an_error() {
    let drops = Drops::new();
    let event = Event { failed: true, ..Event::default() };
    let error = backwards(Some(event), &drops).into_dlpack().unwrap_err();
    assert_eq!(error, Error::Custom("the kernel failed"));
    assert_eq!(drops.count(), 1);
}

#[test]
fn offsets_beyond_the_buffer_are_an_error() {
    let drops = Drops::new();
    let error = |offset| {
        let tensor = Typed { offset, ..backwards(None, &drops) };
        tensor.into_dlpack().unwrap_err()
    };
    assert_eq!(error(-1), Error::NegativeOffset);
    assert_eq!(error(4), Error::OutOfBounds { start: -4, end: 20, len: 24 });
    assert_eq!(error(6), Error::OutOfBounds { start: 4, end: 28, len: 24 });
}
