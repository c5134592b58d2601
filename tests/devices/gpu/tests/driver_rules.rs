//! The driver's results and ordering: the assumptions of the backend and of the
//! simulator. On a GPU these tests check the simulator.

#![cfg(target_os = "linux")]

use dlpack_gpu_tests::driver::cuda;
use dlpack_gpu_tests::session::{Session, check, session, skipped};

const INVALID_VALUE: i32 = 1;
const INVALID_DEVICE: i32 = 101;
const INVALID_CONTEXT: i32 = 201;
const INVALID_HANDLE: i32 = 400;
const NOT_READY: i32 = 600;
const CAPTURE_UNSUPPORTED: i32 = 900;
const CAPTURE_INVALIDATED: i32 = 901;
const CAPTURE_UNJOINED: i32 = 904;
const CAPTURE_IMPLICIT: i32 = 906;
const CAPTURED_EVENT: i32 = 907;
/// Values of `CUstreamCaptureMode`.
const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
const COUNT: usize = 8;

fn event(session: &Session) -> usize {
    let mut event = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.event_create)(&raw mut event, 2) });
    event
}

fn destroy_event(session: &Session, event: usize) {
    // SAFETY: tests call this once for an event that they made.
    check(unsafe { (session.driver.event_destroy)(event) });
}

fn record(session: &Session, event: usize, stream: usize) {
    // SAFETY: an event and a stream of the test.
    check(unsafe { (session.driver.event_record)(event, stream) });
}

fn query(session: &Session, stream: usize) -> i32 {
    // SAFETY: a stream of the test.
    unsafe { (session.driver.stream_query)(stream) }
}

fn begin(session: &Session, stream: usize, mode: u32) {
    // SAFETY: a stream of the test, and a documented mode.
    check(unsafe { (session.driver.begin_capture)(stream, mode) });
}

/// Ends a capture and discards its graph.
fn end(session: &Session, stream: usize) -> i32 {
    let mut graph = 0;
    // SAFETY: the answer has a place.
    let ended = unsafe { (session.driver.end_capture)(stream, &raw mut graph) };
    if ended == 0 {
        // SAFETY: a graph that was just made.
        check(unsafe { (session.driver.graph_destroy)(graph) });
    }
    ended
}

/// A stream that takes turns with the legacy default stream.
fn blocking_stream(session: &Session) -> usize {
    let mut stream = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.stream_create)(&raw mut stream, 0) });
    stream
}

#[test]
fn missing_objects_are_refused() {
    let Some(session) = session() else { return };
    let driver = session.driver;
    let mut answer = 0;
    // SAFETY: the answer has a place.
    assert_eq!(unsafe { (driver.context_retain)(&raw mut answer, 9999) }, INVALID_DEVICE);
    // SAFETY: as above.
    assert_eq!(unsafe { (driver.allocate)(&raw mut answer, 0) }, INVALID_VALUE);
    let ours = [0_u8; 4];
    let mut kind = 0_u32;
    let (place, address) = ((&raw mut kind).cast(), ours.as_ptr().addr());
    // SAFETY: as above; memory that is not the driver's is only queried.
    assert_eq!(unsafe { (driver.pointer_attribute)(place, 2, address) }, INVALID_VALUE);
    // SAFETY: no memory is freed.
    assert_ne!(unsafe { (driver.free)(address) }, 0);
}

#[test]
fn a_thread_without_a_context_cannot_work() {
    let Some(session) = session() else { return };
    let driver = session.driver;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut answer = 0;
            // SAFETY: the answer has a place.
            check(unsafe { (driver.context_get)(&raw mut answer) });
            assert_eq!(answer, 0);
            // SAFETY: as above.
            let allocated = unsafe { (driver.allocate)(&raw mut answer, 4) };
            assert_eq!(allocated, INVALID_CONTEXT);
            // SAFETY: as above.
            let made = unsafe { (driver.event_create)(&raw mut answer, 2) };
            assert_eq!(made, INVALID_CONTEXT);
        });
    });
}

/// Calls that may crash a driver. The simulator returns errors.
#[test]
fn use_after_release_is_an_error() {
    let Some(session) = session() else { return };
    if session.only_simulated().is_none() {
        return;
    }
    let (stream, event, memory) = (session.new_stream(), event(&session), session.filled(1, COUNT));
    session.destroy_stream(stream);
    destroy_event(&session, event);
    session.free(memory);
    assert_eq!(query(&session, stream), INVALID_HANDLE);
    // SAFETY: the object was released, which is an error for the simulator.
    assert_eq!(unsafe { (session.driver.event_record)(event, 0) }, INVALID_HANDLE);
    // SAFETY: as above.
    assert_eq!(unsafe { (session.driver.free)(memory) }, INVALID_VALUE);
}

#[test]
fn an_event_waits_for_its_latest_record() {
    let Some(session) = session() else { return };
    let stream = session.new_stream();
    let event = event(&session);
    // SAFETY: an event of the test.
    let ask = || unsafe { (session.driver.event_query)(event) };
    assert_eq!(ask(), 0, "nothing is recorded");
    let first = session.hold(stream);
    record(&session, event, stream);
    assert_eq!((ask(), query(&session, stream)), (NOT_READY, NOT_READY));
    first.open();
    // SAFETY: an event of the test.
    check(unsafe { (session.driver.event_synchronize)(event) });
    let second = session.hold(stream);
    assert_eq!(ask(), 0);
    record(&session, event, stream);
    assert_eq!(ask(), NOT_READY);
    second.open();
    session.synchronize(stream);
    assert_eq!(ask(), 0);
    destroy_event(&session, event);
    session.destroy_stream(stream);
}

/// An event may be destroyed at once; streams that wait for it continue to wait.
#[test]
fn waits_outlive_their_event() {
    let Some(session) = session() else { return };
    let (first, second) = (session.new_stream(), session.new_stream());
    let gate = session.hold(first);
    let event = event(&session);
    record(&session, event, first);
    // SAFETY: an event and a stream of the test.
    check(unsafe { (session.driver.stream_wait)(second, event, 0) });
    destroy_event(&session, event);
    assert_eq!(query(&session, second), NOT_READY);
    gate.open();
    session.synchronize(second);
    session.destroy_stream(second);
    session.destroy_stream(first);
}

/// The legacy default stream waits for blocking streams, and they for it; other
/// streams do neither.
#[test]
fn the_legacy_stream_is_ordered_with_blocking_streams() {
    let Some(session) = session() else { return };
    let (free, turns) = (session.new_stream(), blocking_stream(&session));
    let memory = session.filled(1, COUNT);
    for (held, waiting, waits) in
        [(turns, 0, true), (0, turns, true), (2, 1, true), (free, 0, false), (0, free, false)]
    {
        session.synchronize(waiting);
        let gate = session.hold(held);
        session.fill_on(waiting, memory, 2, COUNT);
        if waits {
            assert_eq!(query(&session, waiting), NOT_READY, "{waiting} waits for {held}");
        } else {
            session.synchronize(waiting);
        }
        gate.open();
        session.synchronize(waiting);
        session.synchronize(held);
    }
    session.free(memory);
    session.destroy_stream(turns);
    session.destroy_stream(free);
}

#[test]
fn a_captured_stream_runs_nothing_and_cannot_be_queried() {
    let Some(session) = session() else { return };
    let stream = session.new_stream();
    let memory = session.filled(1, COUNT);
    begin(&session, stream, THREAD_LOCAL);
    session.fill_on(stream, memory, 2, COUNT);
    let mut status = 0;
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.is_capturing)(stream, &raw mut status) });
    assert_eq!(status, 1);
    assert_eq!(query(&session, stream), CAPTURE_UNSUPPORTED);
    assert_eq!(end(&session, stream), CAPTURE_INVALIDATED, "asking spoilt it");
    assert_eq!(session.read_on(stream, memory, COUNT), [1; COUNT]);
    session.free(memory);
    session.destroy_stream(stream);
}

#[test]
fn a_captured_event_cannot_be_queried() {
    let Some(session) = session() else { return };
    let stream = session.new_stream();
    let event = event(&session);
    begin(&session, stream, RELAXED);
    record(&session, event, stream);
    // SAFETY: an event of the test.
    assert_eq!(unsafe { (session.driver.event_query)(event) }, CAPTURED_EVENT);
    assert_eq!(end(&session, stream), CAPTURE_INVALIDATED);
    destroy_event(&session, event);
    session.destroy_stream(stream);
}

#[test]
fn streams_that_joined_a_capture_leave_it_at_its_end() {
    let Some(session) = session() else { return };
    let (origin, joined) = (session.new_stream(), session.new_stream());
    let memory = session.filled(1, COUNT);
    let event = event(&session);
    begin(&session, origin, GLOBAL);
    record(&session, event, origin);
    // SAFETY: an event and a stream of the test.
    check(unsafe { (session.driver.stream_wait)(joined, event, 0) });
    session.fill_on(joined, memory, 2, COUNT);
    assert_eq!(end(&session, origin), CAPTURE_UNJOINED);
    session.free(memory);
    destroy_event(&session, event);
    session.destroy_stream(joined);
    session.destroy_stream(origin);
}

#[test]
fn the_legacy_stream_and_captures_exclude_each_other() {
    let Some(session) = session() else { return };
    // SAFETY: the legacy default stream, which cannot be captured.
    let refused = unsafe { (session.driver.begin_capture)(0, GLOBAL) };
    assert_eq!(refused, CAPTURE_UNSUPPORTED);
    let turns = blocking_stream(&session);
    let memory = session.filled(1, COUNT);
    begin(&session, turns, RELAXED);
    // SAFETY: memory and a stream of the test.
    let implied = unsafe { (session.driver.fill_in_order)(memory, 2, COUNT, 0) };
    assert_eq!(implied, CAPTURE_IMPLICIT);
    assert_eq!(end(&session, turns), CAPTURE_INVALIDATED);
    session.free(memory);
    session.destroy_stream(turns);
}

/// Global captures keep all threads from allocating, unless they are relaxed.
#[test]
fn capture_modes_restrict_other_threads() {
    let Some(session) = session() else { return };
    let driver = session.driver;
    let context = session.context();
    for (mode, ours, allowed) in
        [(GLOBAL, GLOBAL, false), (GLOBAL, RELAXED, true), (THREAD_LOCAL, GLOBAL, true)]
    {
        let stream = session.new_stream();
        begin(&session, stream, mode);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: retained by the session.
                check(unsafe { (driver.context_set)(context) });
                let mut exchanged = ours;
                // SAFETY: a documented mode.
                check(unsafe { (driver.exchange_capture_mode)(&raw mut exchanged) });
                assert_eq!(exchanged, GLOBAL, "the default mode of every thread");
                let mut memory = 0;
                // SAFETY: the answer has a place.
                let allocated = unsafe { (driver.allocate)(&raw mut memory, 4) };
                assert_eq!(allocated, if allowed { 0 } else { CAPTURE_UNSUPPORTED });
                if allowed {
                    // SAFETY: it was just allocated.
                    check(unsafe { (driver.free)(memory) });
                }
            });
        });
        assert_eq!(end(&session, stream), if allowed { 0 } else { CAPTURE_INVALIDATED });
        session.destroy_stream(stream);
    }
}

/// A free in the order of a stream waits for that stream.
#[test]
fn stream_ordered_frees_run_in_stream_order() {
    let Some(session) = session() else { return };
    let stream = session.new_stream();
    let (mut memory, copy) = (0, session.filled(0, COUNT));
    // SAFETY: the answer has a place.
    check(unsafe { (session.driver.allocate_in_order)(&raw mut memory, COUNT * 4, stream) });
    let gate = session.hold(stream);
    session.fill_on(stream, memory, 3, COUNT);
    // SAFETY: both have as many bytes.
    check(unsafe { (session.driver.copy_in_order)(copy, memory, COUNT * 4, stream) });
    // SAFETY: its last use is earlier in the stream.
    check(unsafe { (session.driver.free_in_order)(memory, stream) });
    gate.open();
    assert_eq!(session.read_on(stream, copy, COUNT), [3; COUNT]);
    session.free(copy);
    session.destroy_stream(stream);
}

/// `cuCtxRecordEvent`, from CUDA 12.5 on.
type RecordContext = unsafe extern "C" fn(usize, usize) -> i32;

fn record_context() -> Option<RecordContext> {
    let (library, _) = cuda()?;
    // SAFETY: the type is the one in CUDA's header.
    let function = unsafe { library.get::<RecordContext>(b"cuCtxRecordEvent\0") };
    function.map_or_else(|_| skipped("a later driver", "it is of before CUDA 12.5"), |it| Some(*it))
}

/// Whether an event of all work of the context is reached.
fn query_event(session: &Session, event: usize) -> i32 {
    // SAFETY: an event of the test.
    unsafe { (session.driver.event_query)(event) }
}

/// An event of a context records the work of all its streams, also of one that was destroyed, and
/// another stream waits for it.
#[test]
fn an_event_records_all_work_of_a_context() {
    let Some(session) = session() else { return };
    let Some(record_context) = record_context() else { return };
    let (event, waiting, own) = (event(&session), session.new_stream(), session.new_stream());
    let (mut blocking, destroyed) = (0, session.new_stream());
    // SAFETY: the answer has a place, and a context is current.
    check(unsafe { (session.driver.stream_create)(&raw mut blocking, 0) });
    for stream in [own, blocking, 1, 2, destroyed] {
        let gate = session.hold(stream);
        if stream == destroyed {
            session.destroy_stream(stream);
        }
        // SAFETY: the session's context, and an event of it.
        check(unsafe { record_context(session.context(), event) });
        assert_eq!(query_event(&session, event), NOT_READY, "{stream}");
        // SAFETY: a stream and an event of the test.
        check(unsafe { (session.driver.stream_wait)(waiting, event, 0) });
        assert_eq!(query(&session, waiting), NOT_READY, "{stream}");
        gate.open();
        session.synchronize_all();
        assert_eq!(query_event(&session, event), 0, "{stream}");
        assert_eq!(query(&session, waiting), 0, "{stream}");
    }
    destroy_event(&session, event);
    for stream in [waiting, own, blocking] {
        session.destroy_stream(stream);
    }
}

/// While a stream is captured, in whatever mode, the record fails and invalidates the capture, as
/// a wait for the context does.
#[test]
fn a_record_of_a_context_ends_captures() {
    let Some(session) = session() else { return };
    let Some(record_context) = record_context() else { return };
    let (event, stream) = (event(&session), session.new_stream());
    let recorded = || {
        // SAFETY: the session's context, and an event of it.
        unsafe { record_context(session.context(), event) }
    };
    // SAFETY: no argument.
    let waited = || unsafe { (session.driver.context_synchronize)() };
    for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
        for call in [&recorded as &dyn Fn() -> i32, &waited] {
            begin(&session, stream, mode);
            let mut relaxed = RELAXED;
            // SAFETY: a mode, and a place for the one before.
            check(unsafe { (session.driver.exchange_capture_mode)(&raw mut relaxed) });
            assert_eq!(call(), CAPTURE_UNSUPPORTED, "mode {mode}");
            // SAFETY: as above.
            check(unsafe { (session.driver.exchange_capture_mode)(&raw mut relaxed) });
            assert_eq!(end(&session, stream), CAPTURE_INVALIDATED, "mode {mode}");
        }
    }
    destroy_event(&session, event);
    session.destroy_stream(stream);
}

/// A context that is made after a reset has another id, also at the same address.
#[test]
fn ids_of_contexts_are_not_reused() {
    let Some(session) = session() else { return };
    let Some((library, _)) = cuda() else { return };
    // SAFETY: the type is the one in CUDA's header.
    let of =
        unsafe { library.get::<unsafe extern "C" fn(usize, *mut u64) -> i32>(b"cuCtxGetId\0") };
    let id = |context| {
        let mut id = 0;
        // SAFETY: a context that is alive, and a place for the answer.
        check(unsafe { (of.as_ref().expect("a driver of CUDA 12"))(context, &raw mut id) });
        id
    };
    let first = id(session.context());
    assert_eq!(id(session.context()), first);
    let other = session.other_context();
    let second = id(other.context());
    assert_ne!(first, second);
    drop(other);
    // On the simulator it is that of the second GPU, which is not destroyed when it is released.
    if session.simulator.is_none() {
        let third = id(session.other_context().context());
        assert!(![first, second].contains(&third), "{first}, {second}, {third}");
    }
}
