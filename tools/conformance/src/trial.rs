//! What a case is, for Python: [`PyTrial`].

use std::sync::Arc;

use dlpack_hostile::{Duty, Given, Trial, faults};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::play::{Play, Way};

/// A case: its name, what a consumer owes to it, and the way to play it.
#[pyclass(frozen, name = "Trial", module = "dlpack_conformance")]
pub(crate) struct PyTrial(Arc<Trial>);

/// All cases.
#[pyfunction]
pub(crate) fn trials() -> Vec<PyTrial> {
    dlpack_hostile::trials().into_iter().map(|trial| PyTrial(Arc::new(trial))).collect()
}

/// The names of all places of the standard that cases are about, with what is said there.
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
    /// The name, which no other case has.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Where the standard speaks of it.
    #[getter]
    fn clause(&self) -> &'static str {
        self.0.clause.name()
    }

    /// The rules of this project that it is for.
    #[getter]
    fn rules(&self) -> Vec<String> {
        self.0.rules.clone()
    }

    /// "refuse", "accept", "may" or "undefined".
    #[getter]
    fn duty(&self) -> String {
        self.0.duty.to_string()
    }

    /// What this project's importers raise, and words of its text; None if they take it.
    #[getter]
    fn ours(&self) -> Option<(&'static str, String)> {
        self.0.ours.clone()
    }

    /// The ways in which it can be given to an importer.
    #[getter]
    fn ways(&self) -> Vec<&'static str> {
        Way::ALL.iter().filter(|way| way.fits(&self.0.given)).map(|way| way.name()).collect()
    }

    /// Begins the case, given in that way.
    #[pyo3(signature = (way = "object"))]
    fn play(&self, way: &str) -> PyResult<Play> {
        let way = Way::ALL.into_iter().find(|one| one.name() == way && one.fits(&self.0.given));
        let way = way.ok_or_else(|| {
            PyValueError::new_err(format!("`{}` cannot be given in this way", self.0.name))
        })?;
        // Whatever was imported since may have put a handler of its own.
        faults::announce(&self.0.name);
        faults::rearm();
        Ok(Play::new(Arc::clone(&self.0), way))
    }

    /// The bits of the elements of what is accepted, in row-major order; None where
    /// there are none to compare.
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
