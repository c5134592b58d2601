//! What exports must stand, tried on the object itself.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use dlpack_traits::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use dlpack_traits::{Abi, Flags, ImportedTensor, python};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ask::{self, NEWEST, Options, PLAIN};
use crate::memory;
use crate::read::{LEGACY, VERSIONED};
use crate::report::{Answer, CapsuleFacts, Check, Severity, TensorFacts};

/// Exports in each measurement of a leak.
const ROUNDS: isize = 32;
/// Measurements of each leak: MLX's first exports grow Python's memory by up to 290 blocks
/// in total, which 10 measurements do not exceed.
const BATCHES: isize = 32;
/// The time between two looks at what is left.
const PAUSE: f64 = 0.02;
/// Looks without a change after which the rest is a leak: 5 seconds, because a thread of a
/// library that releases exports may have to wait for a processor.
const SETTLING: usize = 250;
/// Looks altogether: 20 seconds.
const SETTLED: usize = 1000;
/// The time limit for a deleter.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was observed, and its severity.
type Seen = (Severity, String);
/// One way of exporting and releasing.
type Way<'a> = &'a dyn Fn(&Bound<'_, PyAny>) -> PyResult<()>;
/// A check.
type Body = fn(&Bound<'_, PyAny>) -> PyResult<Seen>;

/// Ways of exporting besides sets of keywords.
const BODIES: [(&str, Body); 4] = [
    ("export twice", twice),
    ("release on a thread", on_a_thread),
    ("reference balance", balance),
    ("exchange table", by_table),
];

/// The names of all checks that [`Options::live`](crate::Options::live) adds, in
/// their order. Each set of keywords is one.
pub const CHECKS: &[&str] = &[
    "export twice",
    "release on a thread",
    "reference balance",
    "exchange table",
    "max_version=None",
    "max_version=(0, 8)",
    "max_version=(1, 0)",
    "max_version=(2, 0)",
    "stream=None",
    "dl_device=own",
    "dl_device=None, copy=None",
    "copy=False",
    "copy=True",
    "copy=True, max_version=(1, 3)",
    "unknown=1",
    "positional",
];

pub(crate) fn run(object: &Bound<'_, PyAny>, options: &Options<'_>) -> PyResult<Vec<Check>> {
    let mut checks = Vec::new();
    for &name in CHECKS {
        if options.skip.iter().any(|skipped| skipped == name) {
            continue;
        }
        options.announce(name);
        let body = BODIES.iter().find(|(known, _)| *known == name);
        let (severity, seen) = match body {
            Some((_, body)) => body(object).or_else(|error| {
                let (exception, message) = ask::words(object.py(), &error);
                PyResult::Ok((Severity::Error, format!("{exception}: {message}")))
            })?,
            None => keywords(object, name)?,
        };
        checks.push(Check { name: name.to_owned(), severity, seen });
    }
    Ok(checks)
}

fn well(seen: impl Into<String>) -> Seen {
    (Severity::Note, seen.into())
}

fn wrong(seen: impl Into<String>) -> Seen {
    (Severity::Error, seen.into())
}

/// A capsule, from the newest request that the object supports.
fn export<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match ask::call(object, NEWEST)? {
        Ok(capsule) => Ok(capsule),
        Err(_) => ask::call(object, PLAIN)?,
    }
}

/// The fields of the struct in a capsule, which stays unconsumed.
fn facts(capsule: &Bound<'_, PyAny>) -> Option<TensorFacts> {
    capsule.extract().ok().and_then(|capsule| crate::read::capsule(&capsule).tensor)
}

fn twice(object: &Bound<'_, PyAny>) -> PyResult<Seen> {
    let (first, second) = (export(object)?, export(object)?);
    let (Some(one), Some(other)) = (facts(&first), facts(&second)) else {
        return Ok(wrong("one of two exports has no tensor that can be read"));
    };
    if (&one.shape, one.dtype) != (&other.shape, other.dtype) {
        return Ok(wrong("two exports have tensors of another shape or type"));
    }
    drop(first);
    let after = facts(&second);
    let same = one.data == other.data;
    drop(second);
    if after.is_none_or(|after| after != other) {
        return Ok(wrong("releasing the first export changed the second"));
    }
    Ok(if same {
        well("two exports of the same memory, released one after the other")
    } else {
        well("two exports at different addresses: it copies")
    })
}

fn on_a_thread(object: &Bound<'_, PyAny>) -> PyResult<Seen> {
    let tensor = python::from_dlpack(&export(object)?)?;
    // An import from Python leaves the deleter to a thread that Python knows.
    let imported = match tensor.into_raw::<DLManagedTensorVersioned>() {
        Ok(managed) => of_c(managed),
        Err(tensor) => match tensor.into_raw::<DLManagedTensor>() {
            Ok(managed) => of_c(managed),
            Err(_) => return Ok(wrong("the export has no struct of DLPack")),
        },
    };
    Ok(released_in_time(object.py(), imported?))
}

/// The import of a consumer in C, which calls the deleter where it releases the tensor.
fn of_c<A: Abi>(managed: *mut A) -> PyResult<ImportedTensor> {
    // SAFETY: the struct was imported before, so it is valid, and its deleter has not been called. The
    // producer is trusted with the rest, as by `python::from_dlpack`.
    Ok(unsafe { ImportedTensor::from_raw(managed) }?)
}

/// Releases a tensor on a thread without a Python thread state, as the standard allows,
/// while this thread is detached: a deleter that wrongly assumes an attached thread must
/// not find this thread's state.
fn released_in_time(py: Python<'_>, tensor: ImportedTensor) -> Seen {
    py.detach(|| {
        let releasing = thread::spawn(move || drop(tensor));
        let started = Instant::now();
        while !releasing.is_finished() {
            if started.elapsed() > PATIENCE {
                return wrong("the deleter does not come back on a thread without an interpreter");
            }
            thread::sleep(Duration::from_millis(1));
        }
        match releasing.join() {
            Ok(()) => well("released by a thread that Python does not know"),
            Err(_) => wrong("the deleter panics on a thread that Python does not know"),
        }
    })
}

/// References to the object, and blocks of Python's allocator.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Balance {
    references: isize,
    blocks: Option<isize>,
}

impl Balance {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        py.import("gc")?.call_method0("collect")?;
        let sys = py.import("sys")?;
        let blocks = sys.getattr_opt("getallocatedblocks")?;
        Ok(Self {
            references: sys.call_method1("getrefcount", (object,))?.extract()?,
            blocks: blocks.map(|blocks| blocks.call0()?.extract()).transpose()?,
        })
    }

    /// What `exports` left behind, if each left at least one reference or block.
    fn leak_since(&self, before: &Self, exports: isize) -> Option<String> {
        let references = self.references.saturating_sub(before.references);
        let blocks = self.blocks.zip(before.blocks).map(|(now, then)| now.saturating_sub(then));
        if references >= exports {
            return Some(format!("leave {references} references to the object behind"));
        }
        if references <= -exports {
            let missing = references.unsigned_abs();
            return Some(format!("release {missing} references to the object too many"));
        }
        blocks
            .filter(|&blocks| blocks >= exports)
            .map(|blocks| format!("leave {blocks} blocks of Python's memory behind"))
    }
}

fn balance(object: &Bound<'_, PyAny>) -> PyResult<Seen> {
    let untaken = |object: &Bound<'_, PyAny>| export(object).map(drop);
    let taken = |object: &Bound<'_, PyAny>| python::from_dlpack(&export(object)?).map(drop);
    let ways: [(&str, Way<'_>); 2] =
        [("that no consumer takes", &untaken), ("that were taken and released", &taken)];
    for (which, way) in ways {
        let before = Balance::of(object)?;
        if grows_each_time(object, way, before)? {
            let exports = BATCHES * ROUNDS;
            if let Some(leak) = left_behind(object, &before, exports)? {
                return Ok(wrong(format!("{exports} exports {which} {leak}")));
            }
        }
    }
    Ok(well("exports leave nothing behind, whether taken or not"))
}

/// Whether each batch of exports left something behind. One-time initialization and Python's
/// caches grow in the first batches only.
fn grows_each_time(object: &Bound<'_, PyAny>, way: Way<'_>, mut before: Balance) -> PyResult<bool> {
    for _ in 0..BATCHES {
        for _ in 0..ROUNDS {
            way(object)?;
        }
        let now = Balance::of(object)?;
        if now.leak_since(&before, ROUNDS).is_none() {
            return Ok(false);
        }
        before = now;
    }
    Ok(true)
}

/// What is still left after other threads had time to run: some libraries release exports
/// on threads of their own.
fn left_behind(
    object: &Bound<'_, PyAny>,
    before: &Balance,
    exports: isize,
) -> PyResult<Option<String>> {
    let sleep = object.py().import("time")?.getattr("sleep")?;
    let mut now = Balance::of(object)?;
    let mut unchanged = 0;
    for _ in 0..SETTLED {
        if now.leak_since(before, exports).is_none() || unchanged == SETTLING {
            break;
        }
        sleep.call1((PAUSE,))?;
        let then = core::mem::replace(&mut now, Balance::of(object)?);
        unchanged = if now == then { unchanged.saturating_add(1) } else { 0 };
    }
    Ok(now.leak_since(before, exports))
}

fn by_table(object: &Bound<'_, PyAny>) -> PyResult<Seen> {
    let Some(table) = crate::table::of(&object.get_type())? else {
        return Ok(well("the type has none"));
    };
    if table.slots.iter().all(|slot| slot.place.is_none()) {
        return Ok(well("the type has none that exports"));
    }
    // Through its table, if the table is readable.
    let tensor = python::from_dlpack(object)?;
    let Some(said) = facts(&export(object)?) else {
        return Ok(well("its table exports, its `__dlpack__` does not"));
    };
    let agrees = said.shape.values() == Some(tensor.shape())
        && said.dtype_name == tensor.dtype().to_string()
        && said.device.name == tensor.device().to_string();
    Ok(if agrees {
        well("its table and its `__dlpack__` give the same tensor")
    } else {
        wrong("its table and its `__dlpack__` give different tensors")
    })
}

/// Calls `__dlpack__` with one set of keywords.
fn keywords(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Seen> {
    let py = object.py();
    let own = facts(&export(object).unwrap_or_else(|_| py.None().into_bound(py)));
    let result = match name {
        "positional" => object.call_method1("__dlpack__", (py.None(),)),
        "dl_device=own" => match object.call_method0("__dlpack_device__") {
            // Passed unchanged: it need not be a pair of plain integers.
            Ok(device) => {
                let keywords = PyDict::new(py);
                keywords.set_item("dl_device", device)?;
                object.call_method("__dlpack__", (), Some(&keywords))
            }
            Err(error) => Err(error),
        },
        _ => ask::call(object, name)?,
    };
    // A tensor is read before it is released.
    let address = result.as_ref().ok().and_then(facts);
    let shared = match (&own, &address) {
        (Some(own), Some(found)) if memory::is_mapped(found.data.max(1), 1) => {
            Some(own.data == found.data)
        }
        _ => None,
    };
    Ok(judge(name, &ask::answer(py, result), shared))
}

/// The verdict on the result of one set of keywords; `shared` states whether its memory is
/// the object's own.
fn judge(name: &str, answer: &Answer, shared: Option<bool>) -> Seen {
    let must_refuse = matches!(name, "unknown=1" | "positional");
    match answer {
        Answer::Raised { exception, message } => match exception.as_str() {
            "TypeError" if must_refuse => well("TypeError, as it should be"),
            "TypeError" => (
                Severity::Warning,
                format!("the keyword is not known, which the standard has: {message}"),
            ),
            "BufferError" if must_refuse => wrong("BufferError, where TypeError is due"),
            "BufferError" => well(format!("BufferError: {message}")),
            _ => (
                Severity::Warning,
                format!("{exception}, where the standard has BufferError: {message}"),
            ),
        },
        Answer::Odd { found } => wrong(format!("{found}, not a capsule")),
        Answer::Capsule(_) if must_refuse => {
            (Severity::Warning, "taken, where TypeError is due".to_owned())
        }
        Answer::Capsule(capsule) => capsule_for(name, capsule, shared),
    }
}

fn capsule_for(name: &str, capsule: &CapsuleFacts, shared: Option<bool>) -> Seen {
    let kind = capsule.name.as_deref().unwrap_or("no name");
    let legacy = matches!(name, "max_version=None" | "max_version=(0, 8)" | "stream=None");
    if legacy && kind == VERSIONED {
        return wrong("a versioned capsule, which was not asked for");
    }
    let Some(tensor) = &capsule.tensor else {
        return wrong(format!("{kind:?}, without a tensor that can be read"));
    };
    if tensor.version.is_some_and(|version| version.0 > 2) {
        return wrong("a later major version than was asked for");
    }
    let copied = Flags::from_bits(tensor.flags).contains(Flags::IS_COPIED);
    let empty = tensor.layout.as_ref().is_some_and(|layout| layout.numel == 0);
    match name {
        _ if name.starts_with("copy=True") && shared == Some(true) && !empty => {
            wrong("the same memory, not a copy")
        }
        _ if name.starts_with("copy=True") && kind == VERSIONED && !copied => {
            (Severity::Warning, "a copy without the flag IS_COPIED".to_owned())
        }
        _ if name.starts_with("copy=True") => well(format!("{kind:?}, a copy")),
        "copy=False" if copied || shared == Some(false) && !empty => {
            wrong("a copy, which was forbidden")
        }
        _ if kind == LEGACY && !legacy && name.starts_with("max_version") => {
            well("a legacy capsule")
        }
        _ => well(format!("{kind:?}{}", if copied { ", a copy" } else { "" })),
    }
}
