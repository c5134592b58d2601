//! Asking an object in all the ways that consumers do: [`examine`].

use dlpack_traits::Device;
use dlpack_traits::ffi::DLDeviceType;
use dlpack_traits::python;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::report::{Answer, Array, CapsuleFacts, DeviceAnswer, Report, Request};
use crate::{findings, live, read, table, verdict};

/// The keywords that NumPy and dpnp pass.
pub(crate) const FULL: &str = "dl_device=None, copy=None, max_version=(1, 0)";
/// The keywords that PyTorch, Paddle and nanobind pass.
pub(crate) const NEWEST: &str = "max_version=(1, 3)";
/// The keywords that JAX passes from 0.12 on.
pub(crate) const NEWEST_ON_STREAM: &str = "stream=None, max_version=(1, 3)";
/// The keywords that JAX passes up to 0.10.
pub(crate) const ON_STREAM: &str = "stream=None";
/// The keywords that TensorFlow passes, and tvm-ffi for a type without a table.
pub(crate) const PLAIN: &str = "";

/// All sets of keywords, the one that returns the most information first.
const REQUESTS: [&str; 5] = [NEWEST, PLAIN, FULL, NEWEST_ON_STREAM, ON_STREAM];

/// The depth of an examination by [`examine`].
#[derive(Default)]
#[non_exhaustive]
pub struct Options<'a> {
    /// Whether to run the live checks of exports: see [`CHECKS`](crate::CHECKS).
    pub live: bool,
    /// Live checks that are left out.
    pub skip: Vec<String>,
    /// Called with the name of each step before it starts, so that the caller can name the
    /// step that ended the process.
    pub announce: Option<&'a dyn Fn(&str)>,
}

impl core::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Options").field("live", &self.live).field("skip", &self.skip).finish()
    }
}

impl Options<'_> {
    /// Options with, or without, the live checks.
    #[must_use]
    pub fn live(self, live: bool) -> Self {
        Self { live, ..self }
    }

    pub(crate) fn announce(&self, what: &str) {
        if let Some(announce) = self.announce {
            announce(what);
        }
    }
}

/// Examines the DLPack methods and exports of an object.
///
/// # Errors
///
/// Only exceptions that Python raises outside of the object's code, such as `MemoryError`.
/// An exception of the object is part of the report.
pub fn examine(object: &Bound<'_, PyAny>, options: &Options<'_>) -> PyResult<Report> {
    let class = object.get_type();
    options.announce("__dlpack_device__()");
    let device = device(object)?;
    let mut requests = Vec::new();
    for keywords in REQUESTS {
        options.announce(&format!("__dlpack__({keywords})"));
        let answer = request(object, keywords)?;
        requests.push(Request { keywords: keywords.to_owned(), answer });
    }
    options.announce("the exchange table");
    let table = table::of(&class)?;
    let checks = if options.live { live::run(object, options)? } else { Vec::new() };
    let mut report = Report {
        type_name: class.fully_qualified_name()?.to_string(),
        device,
        requests,
        table,
        checks,
        findings: Vec::new(),
        verdicts: Vec::new(),
    };
    report.findings = findings::of(&report);
    report.verdicts = verdict::of(&report);
    Ok(report)
}

fn device(object: &Bound<'_, PyAny>) -> PyResult<DeviceAnswer> {
    let py = object.py();
    if !object.hasattr("__dlpack_device__")? {
        return Ok(DeviceAnswer::Missing);
    }
    match object.call_method0("__dlpack_device__") {
        Ok(found) => Ok(match found.extract::<(i32, i32)>() {
            Ok((kind, index)) => {
                DeviceAnswer::Said(read::device_facts(Device::new(DLDeviceType(kind), index)))
            }
            Err(_) => DeviceAnswer::Odd {
                items: if found.get_item(0).is_ok() { found.len().unwrap_or(0) } else { 0 },
                found: found.repr()?.to_string(),
            },
        }),
        Err(error) => {
            let (exception, message) = words(py, &error);
            Ok(DeviceAnswer::Raised { exception, message })
        }
    }
}

/// Calls `__dlpack__` with keywords, as Python writes them.
pub(crate) fn call<'py>(
    object: &Bound<'py, PyAny>,
    keywords: &str,
) -> PyResult<PyResult<Bound<'py, PyAny>>> {
    let py = object.py();
    let make = std::ffi::CString::new(format!("dict({keywords})"))?;
    let keywords: Bound<'py, PyDict> = py.eval(&make, None, None)?.extract()?;
    Ok(object.call_method("__dlpack__", (), Some(&keywords)))
}

fn request(object: &Bound<'_, PyAny>, keywords: &str) -> PyResult<Answer> {
    Ok(answer(object.py(), call(object, keywords)?))
}

/// The outcome of a call of `__dlpack__`. A returned tensor is released.
pub(crate) fn answer(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> Answer {
    match result {
        Err(error) => {
            let (exception, message) = words(py, &error);
            Answer::Raised { exception, message }
        }
        Ok(found) => match found.extract::<Bound<'_, PyCapsule>>() {
            Ok(capsule) => {
                let mut facts = read::capsule(&capsule);
                facts.accepted = accepted(&found, &facts);
                Answer::Capsule(Box::new(facts))
            }
            Err(_) => Answer::Odd { found: found.get_type().to_string() },
        },
    }
}

/// Whether our own import accepts it. An import that would end the process is not tried.
fn accepted(capsule: &Bound<'_, PyAny>, facts: &CapsuleFacts) -> Option<Result<(), String>> {
    let py = capsule.py();
    let tensor = facts.tensor.as_ref()?;
    let dims = [&tensor.shape, &tensor.strides];
    if dims.into_iter().any(|array| *array == Array::Unreadable) {
        return None;
    }
    Some(python::from_dlpack(capsule).map(drop).map_err(|error| words(py, &error).1))
}

/// The type of an exception, and the first line of its text.
pub(crate) fn words(py: Python<'_>, error: &PyErr) -> (String, String) {
    let name = error.get_type(py).name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    (name, line.chars().take(200).collect())
}
