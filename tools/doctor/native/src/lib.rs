//! The extension module `dlpack_doctor._native`: reports as JSON, for the command
//! line of the Python package.

#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

use dlpack_doctor::{CHECKS, CONSUMERS, Options, Report, Style};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn odd(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn parsed(report: &str) -> PyResult<Report> {
    serde_json::from_str(report).map_err(odd)
}

/// Examines an object; the report is JSON. `announce` is called before each step, with its
/// name.
#[pyfunction]
#[pyo3(signature = (object, *, live = false, skip = Vec::new(), announce = None))]
fn examine(
    object: &Bound<'_, PyAny>,
    live: bool,
    skip: Vec<String>,
    announce: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let tell = |what: &str| {
        if let Some(announce) = &announce {
            // The reader of the announcements has closed its end: the report is still made.
            drop(announce.call1((what,)));
        }
    };
    let mut options = Options::default().live(live);
    options.skip = skip;
    options.announce = Some(&tell);
    serde_json::to_string(&dlpack_doctor::examine(object, &options)?).map_err(odd)
}

/// A report as text.
#[pyfunction]
#[pyo3(signature = (report, *, colour = false))]
fn render(report: &str, colour: bool) -> PyResult<String> {
    Ok(parsed(report)?.text(if colour { Style::Colour } else { Style::Plain }))
}

/// Whether a report contains nothing worse than a note.
#[pyfunction]
fn is_healthy(report: &str) -> PyResult<bool> {
    Ok(parsed(report)?.is_healthy())
}

/// Compares what two objects export: "same", "copy", "converted" or "wrong", and why.
#[pyfunction]
fn compare(given: &Bound<'_, PyAny>, made: &Bound<'_, PyAny>) -> PyResult<(&'static str, String)> {
    let found = dlpack_doctor::compare(given, made)?;
    Ok((found.fit.word(), found.why))
}

/// The module.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("CHECKS", CHECKS.to_vec())?;
    let consumers: Vec<_> = CONSUMERS.iter().map(|one| (one.name, one.version)).collect();
    m.add("CONSUMERS", consumers)?;
    m.add_function(wrap_pyfunction!(examine, m)?)?;
    m.add_function(wrap_pyfunction!(render, m)?)?;
    m.add_function(wrap_pyfunction!(is_healthy, m)?)?;
    m.add_function(wrap_pyfunction!(compare, m)?)
}
