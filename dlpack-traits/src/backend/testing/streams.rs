//! Checks of streams: as objects (their devices, handles, identity, threads, capture and failures), and
//! of their order. A gate holds work back, and what other work reads tells whether it waited.

use std::thread;

use super::check::{COUNT, Check, Outcome, Stop, Trial, copy, ensure, filled};
use crate::backend::{Backend, DeviceBuffer, Stream, WorkStream};
use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;

/// They leave the device broken.
pub(super) fn last_checks<B: Backend>() -> [Check<B>; 2] {
    [("work that fails", failed_work), ("shutdown", shutdown)]
}

fn of_their_device<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Backend` 1";
    let device = trial.device();
    trial.step(OBLIGATION, "`current_stream`");
    let found = WorkStream::<B>::current(device)?.device();
    ensure(found == device, OBLIGATION, "`current_stream` returned a stream of another device")?;
    trial.step(OBLIGATION, "`current_stream` of a device that does not exist");
    let missing = WorkStream::<B>::current(Device::new(device.device_type(), i32::MAX));
    let text = "`current_stream` returned a stream of a device which does not exist";
    ensure(missing.is_err(), OBLIGATION, text)
}

fn identity<B: Backend>(trial: &Trial<B>) -> Outcome {
    let (ours, theirs) = (trial.stream(0)?, trial.stream(1)?);
    trial.step("`Stream` 9", "`is_same`");
    let (same, clone) = (ours.stream().is_same(theirs.stream()), ours.stream().clone());
    ensure(same != Some(true), "`Stream` 9", "`is_same` is `Some(true)` for two streams")?;
    ensure(ours.handle() != theirs.handle(), "`Backend` 7", "two streams have one handle")?;
    let text = "`is_same` is `Some(false)` for a stream and its clone";
    ensure(ours.stream().is_same(&clone) != Some(false), "`Stream` 7", text)
}

/// Each call is made on a thread that made no other call of the runtime.
fn foreign_threads<B: Backend>(trial: &Trial<B>) -> Outcome {
    let stream = trial.stream(0)?;
    let (data, seen) = (filled(&stream, 2)?, filled(&stream, 1)?);
    trial.step("`Stream` 6", "a call on another thread");
    on_another_thread("`Stream` 6", || {
        let event = stream.stream().record()?;
        stream.stream().wait(&event)?;
        copy(&stream, &data, &seen)?;
        stream.stream().fence()?;
        stream.synchronize()?;
        Ok(data.sync_for(stream.as_arg())?)
    })?;
    trial.expect(&seen, 2, "`Stream` 6", "a copy on another thread was not made")?;
    trial.step("`deallocate`, promise 3", "a free on another thread");
    on_another_thread("`deallocate`, promise 3", move || {
        drop(data);
        Ok(())
    })?;
    Ok(stream.synchronize()?)
}

fn on_another_thread(obligation: &'static str, calls: impl FnOnce() -> Outcome + Send) -> Outcome {
    let panicked = |_| Stop::Broken(obligation, "a call on another thread panicked".into());
    thread::scope(|scope| scope.spawn(calls).join()).map_err(panicked)?
}

fn capture<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Stream` 8";
    let stream = trial.stream(0)?;
    trial.step(OBLIGATION, "`is_captured`");
    let text = "`is_captured` is true without a capture, so that no memory is freed";
    ensure(!stream.stream().is_captured()?, OBLIGATION, text)?;
    let end = trial.hooks().capture(&stream)?;
    trial.step("`Stream` 4", "`record` while the stream is captured");
    let captured = stream.stream().is_captured();
    let marked = stream.stream().record().and_then(|event| stream.stream().wait(&event));
    end();
    let text = "`is_captured` is `Ok(false)` while work is recorded into a graph";
    ensure(captured != Ok(false), OBLIGATION, text)?;
    marked?;
    trial.step(OBLIGATION, "`is_captured` after the capture");
    let text = "`is_captured` is true after the end of the capture";
    ensure(!stream.stream().is_captured()?, OBLIGATION, text)
}

fn failed_work<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Stream` 5";
    let stream = trial.stream(0)?;
    let data = filled(&stream, 2)?;
    trial.hooks().fail(&stream)?;
    trial.step(OBLIGATION, "`synchronize` after work that failed");
    let text = "`synchronize` returned `Ok` although work had failed";
    ensure(stream.synchronize().is_err(), OBLIGATION, text)?;
    trial.step(OBLIGATION, "a free after work that failed");
    drop(data);
    Ok(())
}

/// Calls return after the shutdown: with an error, or with values that are right.
fn shutdown<B: Backend>(trial: &Trial<B>) -> Outcome {
    const OBLIGATION: &str = "`Backend`, errors";
    trial.hooks().shutdown(trial.device())?;
    trial.step(OBLIGATION, "a call after the shutdown");
    let current = WorkStream::<B>::current(trial.device());
    match current.and_then(|stream| filled(&stream, 2)) {
        Ok(data) => trial.expect(&data, 2, OBLIGATION, "a copy after the shutdown is wrong"),
        Err(_) => Ok(()),
    }
}

pub(super) fn checks<B: Backend>() -> [Check<B>; 14] {
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
        ("streams of their device", of_their_device),
        ("identity of streams", identity),
        ("foreign threads", foreign_threads),
        ("capture", capture),
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
