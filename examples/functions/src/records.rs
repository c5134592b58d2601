//! Records: an argument, a class and its fields, over one memory.

use dlpack_traits::python::{IntoPython, PyLike, PyRecords, PyTensorMut};
use dlpack_traits::{FieldTensor, OwnedTensor, Record, Records, SharedBuffer, SharedTensor};
use pyo3::prelude::*;

/// A particle, as in the memory of C and of NumPy.
#[derive(Clone, Copy, Record)]
#[dlpack(any_bits)]
#[repr(C)]
pub(crate) struct Particle {
    position: [f32; 3],
    mass: f32,
    id: u32,
}

/// Particles, whose memory is shared with NumPy, PyTorch and every other library.
#[pyclass(frozen, module = "array_functions")]
pub(crate) struct Particles {
    /// A structured array of NumPy.
    #[pyo3(get)]
    records: SharedTensor<Particle, 1>,
}

#[pymethods]
impl Particles {
    /// `Particles(records: Particle[n])`
    #[new]
    fn new(records: PyRecords<'_, Particle>) -> PyResult<Self> {
        let [len] = records.dims();
        Ok(Self { records: SharedTensor::new(records.elements().to_vec()?, [len])? })
    }

    /// The mass of each particle, float32[n], over the same memory.
    #[getter]
    fn mass(&self) -> FieldTensor<SharedBuffer<Particle>, f32> {
        self.records.field(Particle::MASS)
    }

    /// `position(like) -> float32[n, 3]`
    ///
    /// Returns the positions over the same memory, as an array of the library of `like`.
    fn position<'py>(&self, py: Python<'py>, like: &Bound<'py, PyAny>) -> PyResult<PyLike<'py>> {
        self.records.field(Particle::POSITION).into_object_like(py, like)
    }
}

/// `total_mass(particles: Particle[n]) -> float`
#[pyfunction]
pub(crate) fn total_mass(particles: PyRecords<'_, Particle>) -> f32 {
    particles.elements().iter().map(|particle| particle.mass).sum()
}

/// `scale_masses(particles: Particle[n], factor: float)`
///
/// Multiplies the mass of each particle, in place.
#[pyfunction]
pub(crate) fn scale_masses(mut particles: PyTensorMut<'_, Particle, 1>, factor: f32) {
    particles
        .elements_mut()
        .map_in_place(|particle| Particle { mass: particle.mass * factor, ..particle });
}

/// `heaviest(particles: Particle[n], count: int) -> Particle[count]`
///
/// Returns the heaviest particles, in descending order.
#[pyfunction]
pub(crate) fn heaviest(
    particles: PyRecords<'_, Particle>,
    count: usize,
) -> PyResult<OwnedTensor<Particle>> {
    let mut sorted = particles.elements().to_vec()?;
    sorted.sort_by(|a, b| b.mass.total_cmp(&a.mass));
    sorted.truncate(count);
    Ok(OwnedTensor::from_vec(sorted))
}
