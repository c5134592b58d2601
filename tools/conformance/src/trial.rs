//! What a case is, for Python: [`PyTrial`].

use std::sync::Arc;

use dlpack_hostile::{Duty, Given, Trial, faults};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::play::{Play, Way};

/// A case: its name, its requirement for consumers, and the code that runs it.
#[pyclass(frozen, name = "Trial", module = "dlpack_conformance")]
pub(crate) struct PyTrial(Arc<Trial>);

/// All cases.
#[pyfunction]
pub(crate) fn trials() -> Vec<PyTrial> {
    dlpack_hostile::trials().into_iter().map(|trial| PyTrial(Arc::new(trial))).collect()
}

/// The names of all clauses of the standard that cases concern, with their text.
#[pyfunction]
pub(crate) fn clauses() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for trial in dlpack_hostile::trials() {
        let clause = (trial.clause.name(), trial.clause.words());
        if !found.contains(&clause) {
            found.push(clause);
        }
    }
    found
}

#[pymethods]
impl PyTrial {
    /// The name, which is unique.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The clause of the standard.
    #[getter]
    fn clause(&self) -> &'static str {
        self.0.clause.name()
    }

    /// The rules of this project that the case tests.
    #[getter]
    fn rules(&self) -> Vec<String> {
        self.0.rules.clone()
    }

    /// "refuse", "accept", "may" or "undefined".
    #[getter]
    fn duty(&self) -> String {
        self.0.duty.to_string()
    }

    /// The exception of this project's importers and part of its text; None if they accept
    /// it.
    #[getter]
    fn ours(&self) -> Option<(&'static str, String)> {
        self.0.ours.clone()
    }

    /// The ways in which it can be passed to an importer.
    #[getter]
    fn ways(&self) -> Vec<&'static str> {
        Way::ALL.iter().filter(|way| way.fits(&self.0.given)).map(|way| way.name()).collect()
    }

    /// Starts the case, passed in that way.
    #[pyo3(signature = (way = "object"))]
    fn play(&self, way: &str) -> PyResult<Play> {
        let way = Way::ALL.into_iter().find(|one| one.name() == way && one.fits(&self.0.given));
        let way = way.ok_or_else(|| {
            PyValueError::new_err(format!("`{}` cannot be given in this way", self.0.name))
        })?;
        // A module imported since may have installed its own handler.
        faults::announce(&self.0.name);
        faults::rearm();
        Ok(Play::new(Arc::clone(&self.0), way))
    }

    /// The bits of the elements of an accepted tensor, in row-major order; None if there
    /// are none to compare.
    #[getter]
    fn values(&self) -> Option<Vec<u64>> {
        if self.0.duty == Duty::Refuse {
            return None;
        }
        match &self.0.given {
            Given::Struct { case, .. } => case.values(),
            Given::Object(oddity, _) if oddity.is_on_device() => None,
            Given::Object(..) | Given::Table(_) => Some((0..6).collect()),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Trial {}>", self.0.name)
    }
}
