//! Functions whose result is a coroutine, and that read arrays on threads of Tokio.

use core::time::Duration;
use std::sync::LazyLock;

use dlpack_traits::python::{FromTensor, IntoPython, Numpy};
use dlpack_traits::{ImportedStorage, OwnedTensor};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::Runtime;

static TOKIO: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("no threads"));

/// Waits on a thread of Tokio.
async fn sleep(seconds: f64) -> PyResult<()> {
    let slept =
        TOKIO.spawn(async move { tokio::time::sleep(Duration::from_secs_f64(seconds)).await });
    slept.await.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Twice each element, from a thread that also drops the array. With PyO3 0.27 an argument of an
/// `async fn` has no lifetime.
#[pyfunction]
async fn doubled(x: FromTensor<ImportedStorage<f32>>) -> PyResult<Numpy<OwnedTensor<f32>>> {
    let FromTensor(x) = x;
    let task = TOKIO.spawn_blocking(move || -> PyResult<Vec<f32>> {
        Ok(x.elements()?.iter().map(|value| 2.0 * value).collect())
    });
    let values = task.await.map_err(|error| PyRuntimeError::new_err(error.to_string()))??;
    Ok(Numpy(OwnedTensor::from_vec(values)))
}

/// The number of elements after some time, in an array of the library of `like`.
#[pyfunction]
async fn counted(
    x: FromTensor<ImportedStorage<f32>>,
    like: Py<PyAny>,
    seconds: f64,
) -> PyResult<Py<PyAny>> {
    sleep(seconds).await?;
    let count = OwnedTensor::from_vec(vec![x.0.elements()?.len() as u64]);
    Python::attach(|py| Ok(count.into_object_like(py, &like)?.unbind()))
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let event_loop = PyModule::new(m.py(), "event_loop")?;
    event_loop.add_function(wrap_pyfunction!(doubled, m)?)?;
    event_loop.add_function(wrap_pyfunction!(counted, m)?)?;
    m.add_submodule(&event_loop)
}
