//! Checks of streams as objects: their devices, handles, identity, threads, capture and failures.

use std::thread;

use super::buffers::{copy, filled};
use super::check::{Check, Outcome, Stop, Trial, ensure};
use crate::backend::{Backend, Stream, WorkStream};
use crate::device::Device;

pub(super) fn checks<B: Backend>() -> [Check<B>; 4] {
    [
        ("streams of their device", of_their_device),
        ("identity of streams", identity),
        ("foreign threads", foreign_threads),
        ("capture", capture),
    ]
}

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
