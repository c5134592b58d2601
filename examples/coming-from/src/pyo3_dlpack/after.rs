//! The same class, with `copy=True`, consumers older than DLPack 1.0, and the C exchange API.

use dlpack_traits::DLPackExport;
use pyo3::prelude::*;

#[pyclass(frozen, module = "sound")]
#[derive(DLPackExport)]
#[dlpack(shape(channels, bins))]
pub struct Spectrum {
    #[dlpack(data)]
    power: Vec<f32>,
    channels: usize,
    bins: usize,
}

#[pymethods]
impl Spectrum {
    #[new]
    fn new(power: Vec<f32>, channels: usize) -> Self {
        let bins = power.len() / channels;
        Self { power, channels, bins }
    }
}

#[pymodule]
pub fn sound(m: &Bound<'_, PyModule>) -> PyResult<()> {
    dlpack_traits::python::add_class::<Spectrum>(m)
}
