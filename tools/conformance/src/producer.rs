//! Objects with `__dlpack__`, sound or odd around the struct.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]

use dlpack_hostile::{Given, Oddity};
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::play::Play;
use crate::{capsule, table};

/// A producer of the current standard.
#[pyclass(frozen, subclass, weakref, module = "dlpack_conformance")]
pub(crate) struct Producer(pub(crate) Py<Play>);

/// A producer older than DLPack 1.0.
#[pyclass(frozen, module = "dlpack_conformance")]
struct OldProducer(Py<Play>);

/// An object with a device and without `__dlpack__`.
#[pyclass(frozen, module = "dlpack_conformance")]
struct DeviceOnly;

/// An object without DLPack methods.
#[pyclass(frozen, module = "dlpack_conformance")]
struct Nothing;

/// The object of a case.
pub(crate) fn object<'py>(play: &Bound<'py, Play>) -> PyResult<Bound<'py, PyAny>> {
    let (py, mine) = (play.py(), play.clone().unbind());
    Ok(match &play.get().trial.given {
        Given::Object(Oddity::NoMethods, _) => Bound::new(py, Nothing)?.into_any(),
        Given::Object(Oddity::NoExport, _) => Bound::new(py, DeviceOnly)?.into_any(),
        Given::Object(Oddity::KnowsStreamOnly, _) => Bound::new(py, OldProducer(mine))?.into_any(),
        Given::Table(case) => table::publishing(play, case)?,
        _ => Bound::new(py, Producer(mine))?.into_any(),
    })
}

#[pymethods]
impl Producer {
    #[new]
    fn new(play: Py<Play>) -> Self {
        Self(play)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (stream, dl_device);
        let play = self.0.bind(py);
        let state = play.get();
        if copy == Some(true) {
            return Err(PyBufferError::new_err("this producer makes no copies"));
        }
        let asked_for_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let legacy = state.is_legacy().unwrap_or(!asked_for_versioned);
        if !legacy && !asked_for_versioned {
            state.is_not_asked_for();
            return Err(PyBufferError::new_err(
                "this tensor exists in the versioned struct only; ask with `max_version`",
            ));
        }
        let Given::Object(oddity, _) = state.trial.given else {
            return capsule::of(play, legacy);
        };
        match oddity {
            Oddity::ReturnsNone => Ok(py.None().into_bound(py)),
            Oddity::ReturnsAddress => Ok(4096_i32.into_pyobject(py)?.into_any()),
            Oddity::ReturnsTuple => Ok(PyTuple::new(py, [capsule::of(play, legacy)?])?.into_any()),
            Oddity::RaisesBufferError => Err(PyBufferError::new_err("the producer's own words")),
            Oddity::RaisesMemoryError => Err(PyMemoryError::new_err("the producer's own words")),
            _ => capsule::of(play, legacy),
        }
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.0.bind(py).get();
        let Given::Object(oddity, _) = state.trial.given else {
            return Ok(state.device().into_pyobject(py)?.into_any());
        };
        Ok(match oddity {
            Oddity::DeviceSaysCuda => (2, 0).into_pyobject(py)?.into_any(),
            Oddity::DeviceSaysCpu => (1, 0).into_pyobject(py)?.into_any(),
            Oddity::DeviceSaysNone => py.None().into_bound(py),
            Oddity::DeviceSaysTexts => ("cpu", "0").into_pyobject(py)?.into_any(),
            Oddity::DeviceSaysThree => (1, 0, 0).into_pyobject(py)?.into_any(),
            Oddity::DeviceSaysHuge => (1_i128 << 80, -(1_i128 << 80)).into_pyobject(py)?.into_any(),
            Oddity::DeviceRaises => return Err(PyValueError::new_err("the producer's own words")),
            _ => state.device().into_pyobject(py)?.into_any(),
        })
    }
}

#[pymethods]
impl OldProducer {
    #[pyo3(signature = (*, stream=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        capsule::of(self.0.bind(py), true)
    }

    fn __dlpack_device__(&self, py: Python<'_>) -> (i32, i32) {
        self.0.bind(py).get().device()
    }
}

#[pymethods]
impl DeviceOnly {
    #[expect(clippy::unused_self, reason = "it is a method")]
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }
}
