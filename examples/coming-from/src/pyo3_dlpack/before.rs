//! A class of `pyo3-dlpack` 0.3. The trait is safe to implement, but its pointer is not
//! checked; the class must interpret each keyword of `__dlpack__` itself.

use std::ffi::c_void;

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3_dlpack::{IntoDLPack, TensorInfo, cpu_device, dtype_f32};

#[pyclass(frozen, module = "sound")]
pub struct Spectrum {
    bins: Vec<f32>,
    channels: i64,
}

/// The owner of an export: the Python object.
struct Lent(Py<Spectrum>);

impl IntoDLPack for Lent {
    fn tensor_info(&self) -> TensorInfo {
        let spectrum = self.0.get();
        let first = spectrum.bins.as_ptr().cast_mut().cast::<c_void>();
        let bins = spectrum.bins.len() as i64 / spectrum.channels;
        let strides = vec![bins, 1];
        TensorInfo::strided(
            first,
            cpu_device(),
            dtype_f32(),
            vec![spectrum.channels, bins],
            strides,
        )
    }
}

#[pymethods]
impl Spectrum {
    #[new]
    fn new(bins: Vec<f32>, channels: i64) -> Self {
        Self { bins, channels }
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: Bound<'py, Self>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyValueError::new_err("the CPU has no streams"));
        }
        if dl_device.is_some_and(|device| device != (1, 0)) || copy == Some(true) {
            return Err(PyBufferError::new_err("cannot copy"));
        }
        if max_version.is_none_or(|(major, _)| major < 1) {
            return Err(PyBufferError::new_err("read-only tensors need DLPack 1.0"));
        }
        let py = slf.py();
        Ok(Lent(slf.unbind()).into_dlpack_readonly(py)?.into_bound(py))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }
}
