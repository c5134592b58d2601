//! Checks of order: a gate holds work back, and what other work reads tells whether it waited.

use super::buffers::{COUNT, copy, filled};
use super::check::{Check, Outcome, Stop, Trial, ensure};
use crate::backend::{Backend, DeviceBuffer, Stream, WorkStream};
use crate::dtype::DataType;
use crate::error::Error;

pub(super) fn checks<B: Backend>() -> [Check<B>; 10] {
    [
        ("order of a stream", one_stream),
        ("events", events),
        ("results that the host waited for", results_of_the_wait),
        ("producer before consumer", producer_before_consumer),
        ("handle of the current stream", current_handle),
        ("free after the producer", free_after_the_producer),
        ("free after the consumer", |trial| free_after_the_consumer(trial, false)),
        ("free after a closed stream", |trial| free_after_the_consumer(trial, true)),
        ("wait for the device", |trial| wait_for_the_device(trial, false)),
        ("wait for closed streams", |trial| wait_for_the_device(trial, true)),
    ]
}

/// All other checks wait by `synchronize` before they read or reuse memory of the host.
pub(super) fn wait_of_the_host<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Stream` 5";
    let stream = trial.stream(0)?;
    if !trial.hooks().holds() {
        return Err(trial.lacks("gate that stays closed"));
    }
    let zeroed = || DeviceBuffer::zeroed_on(stream.clone(), DataType::U32, COUNT);
    let (from, to) = (zeroed()?, zeroed()?);
    trial.hold(&stream)?;
    copy(&stream, &from, &to)?;
    trial.open_later();
    trial.step(OBLIGATION, "`synchronize`");
    stream.synchronize()?;
    let text = "`synchronize` returned while the stream was held back by a gate";
    ensure(trial.is_open(), OBLIGATION, text)
}

/// Ones on `ours`, which will be twos when the gate opens, and zeros on `theirs`, where a copy is
/// going to tell. The last buffer is the source of the twos.
fn pending<B: Backend>(
    trial: &Trial<B>,
    ours: &WorkStream<B>,
    theirs: &WorkStream<B>,
) -> Result<[DeviceBuffer<B>; 3], Stop> {
    theirs.stream().can_follow(ours.stream())?;
    let (two, data, seen) = (filled(ours, 2)?, filled(ours, 1)?, filled(theirs, 0)?);
    trial.hold(ours)?;
    trial.step("`copy`, promise 1", "`copy`");
    copy(ours, &two, &data)?;
    Ok([data, seen, two])
}

fn one_stream<B: Backend>(trial: &Trial<B>) -> Outcome {
    let ours = trial.stream(0)?;
    let [data, seen, _two] = pending(trial, &ours, &ours)?;
    trial.step("`Stream` 4", "`fence`");
    ours.stream().fence()?;
    copy(&ours.clone(), &data, &seen)?;
    trial.pause_and_open();
    let text = "work of one stream ran before earlier work of it";
    trial.expect(&seen, 2, "`Stream` 1, 7 and 11", text)
}

/// The event is dropped before it is reached.
fn events<B: Backend>(trial: &Trial<B>) -> Outcome {
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    let [data, seen, _two] = pending(trial, &ours, &theirs)?;
    trial.step("`Stream` 4", "`record`");
    let event = ours.stream().record()?;
    trial.step("`Stream` 4", "`wait`");
    theirs.stream().wait(&event)?;
    trial.step("`Event` 1", "the drop of an event");
    drop(event);
    copy(&theirs, &data, &seen)?;
    trial.pause_and_open();
    let text = "work after `wait` ran before the work that `record` had marked";
    trial.expect(&seen, 2, "`Stream` 2 and 3", text)
}

/// Another stream, which does not wait for the first, reads what the host waited for.
fn results_of_the_wait<B: Backend>(trial: &Trial<B>) -> Outcome {
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    let [data, seen, _two] = pending(trial, &ours, &theirs)?;
    trial.open_later();
    trial.step("`Stream` 5", "`synchronize`");
    ours.synchronize()?;
    copy(&theirs, &data, &seen)?;
    trial.expect(&seen, 2, "`Stream` 5", "`synchronize` returned before the work was done")
}

fn producer_before_consumer<B: Backend>(trial: &Trial<B>) -> Outcome {
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    let text = "the stream that `borrow_stream` made of a handle is not the consumer's";
    consumer_waits(trial, &ours, &theirs, "`Backend` 1 and 2", text)
}

fn current_handle<B: Backend>(trial: &Trial<B>) -> Outcome {
    let (ours, current) = (trial.stream(1)?, WorkStream::<B>::current(trial.device())?);
    let text = "the handle of the current stream names another stream";
    consumer_waits(trial, &ours, &current, "`WorkStream::new` 1", text)
}

/// Work on `theirs`, which a consumer names by its handle, waits for `ours`.
fn consumer_waits<B: Backend>(
    trial: &Trial<B>,
    ours: &WorkStream<B>,
    theirs: &WorkStream<B>,
    obligation: &'static str,
    text: &str,
) -> Outcome {
    let [data, seen, _two] = pending(trial, ours, theirs)?;
    trial.step(obligation, "an export for a consumer's stream");
    data.sync_for(theirs.as_arg())?;
    copy(theirs, &data, &seen)?;
    trial.pause_and_open();
    trial.expect(&seen, 2, obligation, text)
}

/// The allocations after a free get its memory, if it is free.
fn reuse<B: Backend>(stream: &WorkStream<B>) -> Result<(), Error> {
    (0..4).try_for_each(|_| filled(stream, 3).map(drop))
}

fn free_after_the_producer<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`deallocate`, promise 1";
    let ours = trial.stream(0)?;
    let (data, seen) = (filled(&ours, 2)?, filled(&ours, 0)?);
    trial.hold(&ours)?;
    copy(&ours, &data, &seen)?;
    trial.open_later();
    trial.step(OBLIGATION, "a free after the work of a stream");
    drop(data);
    reuse(&trial.stream(1).unwrap_or(ours))?;
    trial.expect(&seen, 2, OBLIGATION, "memory was freed before the work of its stream")
}

fn free_after_the_consumer<B: Backend>(trial: &Trial<B>, closed: bool) -> Outcome {
    let obligation = match (B::STREAMS_LAST, closed) {
        (true, false) => "`deallocate`, promise 1",
        (true, true) => "`Backend` 3",
        (false, _) => "`Backend` 4",
    };
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    ours.stream().can_follow(theirs.stream())?;
    let (data, seen) = (filled(&ours, 2)?, filled(&ours, 0)?);
    data.sync_for(theirs.as_arg())?;
    trial.hold(&theirs)?;
    copy(&theirs, &data, &seen)?;
    let event = theirs.stream().record()?;
    if closed {
        trial.hooks().close(theirs);
    }
    trial.open_later();
    trial.step(obligation, "a free after the work of a consumer");
    drop(data);
    reuse(&ours)?;
    ours.stream().wait(&event)?;
    trial.expect(&seen, 2, obligation, "memory was freed before the work of a consumer's stream")
}

fn wait_for_the_device<B: Backend>(trial: &Trial<B>, closed: bool) -> Outcome {
    const OBLIGATION: &str = "`Backend` 4";
    let synchronize = B::SYNCHRONIZE_DEVICE.ok_or(trial.lacks("`SYNCHRONIZE_DEVICE`"))?;
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    // No buffer keeps the stream that is closed.
    let (two, data, seen) = (filled(&ours, 2)?, filled(&ours, 1)?, filled(&ours, 0)?);
    trial.hold(&theirs)?;
    copy(&theirs, &two, &data)?;
    let kind = if closed { "closed stream" } else { "stream" };
    if closed {
        trial.hooks().close(theirs);
    }
    trial.open_later();
    trial.step(OBLIGATION, "`SYNCHRONIZE_DEVICE`");
    synchronize(trial.device())?;
    copy(&ours, &data, &seen)?;
    let text = alloc::format!("`SYNCHRONIZE_DEVICE` returned before the work of a {kind}");
    trial.expect(&seen, 2, OBLIGATION, &text)
}
